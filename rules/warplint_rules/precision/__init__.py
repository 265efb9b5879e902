"""In which precision the GPU calculates."""
