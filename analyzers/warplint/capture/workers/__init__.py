"""The lines of loader workers."""
