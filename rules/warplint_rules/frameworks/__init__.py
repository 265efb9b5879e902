"""How Lightning, Transformers, Accelerate and timm are set up and called."""
