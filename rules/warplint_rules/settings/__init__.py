"""Switches that slow a whole program down: debugging left on, libraries held back."""
