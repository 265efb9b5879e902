"""How several processes and GPUs work together."""
