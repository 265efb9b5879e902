"""Where the host waits for the GPU."""
