"""Logging, metrics, saving and measuring in each step."""
