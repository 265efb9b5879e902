"""Reads what a captured process wrote."""
