"""What runs inside the user's program: it records, and analyses nothing.

Imports the standard library, plus torch and NVML where the program has them. Only ``capture.layout`` may be
imported from outside.
"""
