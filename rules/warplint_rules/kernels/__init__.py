"""Rules about needless kernels: work that a layer or function beside it does already."""
