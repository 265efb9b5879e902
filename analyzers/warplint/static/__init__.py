"""Source to findings, without running it. Imports neither torch, numpy nor the language server."""
