"""The table of causes: one module each group, whose ``CAUSES`` are its rows.

A new one is a new module, and needs no other change.
"""
