"""Rules of our own team: one module a rule, found by place."""
