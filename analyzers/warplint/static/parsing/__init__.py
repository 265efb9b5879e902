"""A text cut into pieces, and what one walk over each finds."""
