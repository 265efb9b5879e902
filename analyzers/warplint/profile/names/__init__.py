"""What ran, by name: layers, groups of kernels, tiny copies."""
