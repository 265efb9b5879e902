"""Where steps end, and when they have settled or changed."""
