"""Source text: decoding, positions, statements, and how lines move between two versions."""
