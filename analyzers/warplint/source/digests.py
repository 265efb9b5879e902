"""What tells one content from any other: BLAKE2b, without importing all that ``hashlib`` brings along."""

from __future__ import annotations

try:
    # Importing hashlib starts OpenSSL, which takes longer than recalling a small project from the cache.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST_BYTES = 16


def digest(data: bytes) -> bytes:
    """The digest of some bytes, ``DIGEST_BYTES`` long."""
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
