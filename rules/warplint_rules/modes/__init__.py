"""Rules about gradients and modes: evaluating with them, and switching them off without effect."""
