"""Attention and decoding."""
