"""CUDA graphs: what each was captured from, and which is replayed when."""
