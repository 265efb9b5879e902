"""What the GPU did: Kineto's trace, CUPTI, NVML."""
