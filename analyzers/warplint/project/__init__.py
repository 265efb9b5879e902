"""A user's project: its root, configuration, suppressions and captures, and the engine both front ends call."""
