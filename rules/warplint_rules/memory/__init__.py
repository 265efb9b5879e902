"""Rules about memory: the allocator's cache, graphs that are kept, tensors that grow."""
