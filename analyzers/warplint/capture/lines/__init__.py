"""Which line of the user's source runs, on each thread."""
