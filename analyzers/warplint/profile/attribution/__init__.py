"""Which line every piece of time belongs to."""
