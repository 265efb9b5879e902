"""The steps of a run: where they end, how long they took, where that changed."""
