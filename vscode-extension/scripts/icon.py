"""Draws images/icon.png: lines of code, and the one that costs most glowing. Run it to draw it anew."""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

ICON = Path(__file__).resolve().parents[1] / "images" / "icon.png"
SIZE = 256
SAMPLES = 4
"""Points along each side of a pixel whose colours are averaged."""

Color = tuple[float, float, float]

TOP, BOTTOM = (30.0, 58.0, 44.0), (12.0, 26.0, 20.0)
LINE, HOT_LEFT, HOT_RIGHT = (118.0, 185.0, 140.0), (255.0, 196.0, 61.0), (255.0, 84.0, 42.0)
MARGIN, CORNER = 8.0, 56.0
GLOW_REACH, GLOW_STRENGTH = 26.0, 0.55


class Bar(NamedTuple):
    """A line of code: a bar with round ends."""

    left: float
    right: float
    middle: float
    half: float = 11.0

    def distance(self, x: float, y: float) -> float:
        """From its edge, negative inside."""
        nearest = min(max(x, self.left + self.half), self.right - self.half)
        return math.hypot(x - nearest, y - self.middle) - self.half


LINES = (Bar(48, 150, 62), Bar(76, 190, 106), Bar(76, 148, 194))
HOT = Bar(76, 212, 150, 13.0)


def color(x: float, y: float) -> tuple[Color, float]:
    """The colour at a point, and how opaque it is."""
    if tile_distance(x, y) > 0:
        return (0.0, 0.0, 0.0), 0.0
    seen = mix(TOP, BOTTOM, y / SIZE)
    if any(line.distance(x, y) <= 0 for line in LINES):
        seen = LINE
    heat = mix(HOT_LEFT, HOT_RIGHT, (x - HOT.left) / (HOT.right - HOT.left))
    away = HOT.distance(x, y)
    glow = GLOW_STRENGTH * max(0.0, 1 - away / GLOW_REACH) ** 2
    return (heat if away <= 0 else mix(seen, heat, glow)), 1.0


def tile_distance(x: float, y: float) -> float:
    """From the edge of the square with round corners, negative inside."""
    half = SIZE / 2 - MARGIN - CORNER
    across = max(abs(x - SIZE / 2) - half, 0.0)
    down = max(abs(y - SIZE / 2) - half, 0.0)
    return math.hypot(across, down) - CORNER


def mix(first: Color, second: Color, share: float) -> Color:
    share = min(max(share, 0.0), 1.0)
    red, green, blue = (a + (b - a) * share for a, b in zip(first, second, strict=True))
    return red, green, blue


def pixel(column: int, row: int) -> bytes:
    points = [(step + 0.5) / SAMPLES for step in range(SAMPLES)]
    seen = [color(column + right, row + down) for down in points for right in points]
    opaque = sum(opacity for _, opacity in seen)
    channels = [sum(shade[index] * opacity for shade, opacity in seen) for index in range(3)]
    return bytes(round(channel / opaque) if opaque else 0 for channel in channels) + bytes(
        [round(255 * opaque / len(seen))]
    )


def png(rows: list[bytes]) -> bytes:
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    parts = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


if __name__ == "__main__":
    ICON.parent.mkdir(exist_ok=True)
    ICON.write_bytes(png([b"".join(pixel(x, y) for x in range(SIZE)) for y in range(SIZE)]))
