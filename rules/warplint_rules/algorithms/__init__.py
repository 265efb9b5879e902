"""Work done piece by piece in Python that one call can do."""
