"""What the engine knows of PyTorch and of how people name things: data only, each table with its source."""
