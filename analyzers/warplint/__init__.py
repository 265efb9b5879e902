"""Warplint: the linter that has seen your program run.

Importing this package imports nothing else: a program under capture pays only for what it uses.
"""

__version__ = "0.1.0"
