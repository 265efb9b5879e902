"""Costs of programs that Warplint did not run."""
