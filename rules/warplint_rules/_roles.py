"""Roles of functions as several rules take them."""

from __future__ import annotations

from warplint.static.facts import Role

QUIET_ROLES = frozenset({Role.SETUP, Role.DATA})
"""Code that is not part of a step, or works on the host anyway."""
