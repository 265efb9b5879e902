"""What a module is made of: definitions, roles, loops, and how often each place runs."""
