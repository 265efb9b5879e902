"""A user's project: root, configuration, suppressions, captures, and the engine both front ends call."""
