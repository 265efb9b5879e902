"""How tensors get from the host's memory to the GPU's."""
