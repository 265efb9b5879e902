"""Which layer of the model each call is in."""
