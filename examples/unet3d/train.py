"""Train a small 3D U-Net to segment bright balls in noisy volumes. Makes its own data; needs only PyTorch."""

import argparse
import tempfile
import time
import zlib
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


def write_volumes(folder: Path, count: int, size: int) -> None:
    """Write ``count`` compressed volumes of size³: 16-bit intensities followed by an 8-bit mask."""
    generator = torch.Generator().manual_seed(0)
    axis = torch.arange(size, dtype=torch.float32)
    z, y, x = torch.meshgrid(axis, axis, axis, indexing="ij")
    for index in range(count):
        center = torch.rand(3, generator=generator) * size
        radius = size * (0.15 + 0.2 * torch.rand(1, generator=generator))
        distance = ((z - center[0]) ** 2 + (y - center[1]) ** 2 + (x - center[2]) ** 2).sqrt()
        mask = distance < radius
        noise = torch.randn(size, size, size, generator=generator) * 300
        intensity = (noise + mask * 800).to(torch.int16)
        payload = intensity.numpy().tobytes() + mask.to(torch.uint8).numpy().tobytes()
        (folder / f"volume{index:03d}.z").write_bytes(zlib.compress(payload, 6))


class Volumes(Dataset):
    """Volumes on disk, decompressed and normalised when they are asked for."""

    def __init__(self, folder: Path, size: int) -> None:
        self.paths = sorted(folder.glob("*.z"))
        self.size = size

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        raw = bytearray(zlib.decompress(self.paths[index].read_bytes()))
        shape = (1, self.size, self.size, self.size)
        voxels = self.size**3
        volume = torch.frombuffer(raw, dtype=torch.int16, count=voxels).view(shape).float()
        mask = torch.frombuffer(raw, dtype=torch.uint8, offset=2 * voxels).view(shape).float()
        volume = (volume - volume.mean()) / (volume.std() + 1e-6)
        return volume, mask


class Block(nn.Module):
    """Two convolutions with group normalisation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv3d(inputs, outputs, 3, padding=1)
        self.first_norm = nn.GroupNorm(4, outputs)
        self.second = nn.Conv3d(outputs, outputs, 3, padding=1)
        self.second_norm = nn.GroupNorm(4, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.first_norm(self.first(x)))
        return F.relu(self.second_norm(self.second(x)))


class PositionEmbedding(nn.Module):
    """Adds a learned vector for every depth, height and width to a feature volume."""

    def __init__(self, size: int, channels: int) -> None:
        super().__init__()
        self.depth = nn.Embedding(size, channels)
        self.height = nn.Embedding(size, channels)
        self.width = nn.Embedding(size, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        depth, height, width = x.shape[2:]
        z = torch.arange(depth).to(x.device)
        y = torch.arange(height).to(x.device)
        w = torch.arange(width).to(x.device)
        position = self.depth(z)[:, None, None] + self.height(y)[None, :, None] + self.width(w)[None, None, :]
        return x + position.permute(3, 0, 1, 2)


class UNet3D(nn.Module):
    """Two levels down, two levels up."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.enter = Block(1, width)
        self.position = PositionEmbedding(size, width)
        self.down = Block(width, 2 * width)
        self.bottom = Block(2 * width, 4 * width)
        self.up = Block(6 * width, 2 * width)
        self.leave = Block(3 * width, width)
        self.head = nn.Conv3d(width, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fine = self.position(self.enter(x))
        middle = self.down(F.max_pool3d(fine, 2))
        coarse = self.bottom(F.max_pool3d(middle, 2))
        middle = self.up(torch.cat([middle, F.interpolate(coarse, scale_factor=2)], dim=1))
        fine = self.leave(torch.cat([fine, F.interpolate(middle, scale_factor=2)], dim=1))
        return self.head(fine)


def dice_loss(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    probability = torch.sigmoid(logits)
    overlap = (probability * mask).sum()
    return 1 - (2 * overlap + 1) / (probability.sum() + mask.sum() + 1)


def train(folder: Path, args: argparse.Namespace) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dataset = Volumes(folder, args.size)
    loader = DataLoader(dataset, batch_size=args.batch, shuffle=True)
    model = UNet3D(args.size, args.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        running = 0.0
        start = time.perf_counter()
        for volume, mask in loader:
            volume, mask = volume.to(device), mask.to(device)
            logits = model(volume)
            loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        seconds = time.perf_counter() - start
        print(f"epoch {epoch} loss {running / len(loader):.4f} ({seconds / len(loader) * 1e3:.0f} ms a step)")


def main() -> None:
    on_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64 if on_gpu else 16, help="edge of a volume in voxels")
    parser.add_argument("--width", type=int, default=32 if on_gpu else 8, help="channels of the first level")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--volumes", type=int, default=80 if on_gpu else 40)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        write_volumes(Path(folder), args.volumes, args.size)
        train(Path(folder), args)


if __name__ == "__main__":
    main()
