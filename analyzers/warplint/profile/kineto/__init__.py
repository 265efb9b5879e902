"""Reads Kineto traces: our own, and everyone's."""
