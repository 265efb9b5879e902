"""What keeps a compiled model or a captured graph from its speed."""
