"""What each expression is, without running it."""
