"""The parts of a profile besides totals and lines: lists of small records."""
