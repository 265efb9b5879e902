"""What launch.py does on a Python that is new enough."""
