"""Where tensors are made and where they are needed."""
