"""Which module's calls are steps, where a program infers.

A program calls several modules outside any other: the model, a loss beside it, a transform for each sample,
or the replicas of a model on threads of their own. One of them makes the steps.
"""

from __future__ import annotations

import weakref

import torch

STRANGERS = 20
"""After so many calls of others in a row the leader may be called no more, or a batch has many transforms.
Who then takes TIMES one call of the leader's becomes the leader."""
TIMES = 2
"""Who takes so many times the leader's time becomes the leader: a model that is called after a transform."""
MOST_OTHERS = 1_000
"""Modules whose time is known; a program may make one for each call."""


class LeadingModule:
    """The first module that is called, until another takes much more time or it is no longer called."""

    def __init__(self) -> None:
        self._leader: weakref.ref[torch.nn.Module] | None = None
        self._leader_ns = 0
        self._usual_ns = 0
        """Of the leader's calls: each counts half as much as the next."""
        self._others_ns: dict[int, int] = {}
        """By ``id``, since the leader leads."""
        self._since_ns: dict[int, int] = {}
        """By ``id``, since the leader's last call."""
        self._strangers = 0

    def makes_step(self, module: torch.nn.Module, took_ns: int) -> bool:
        """Whether an outermost call that just returned, after so long, ends a step."""
        leader = self._leader() if self._leader is not None else None
        if leader is module:
            self._strangers = 0
            self._leader_ns += took_ns
            self._usual_ns = (self._usual_ns + took_ns) // 2
            self._since_ns.clear()
            return True
        self._strangers += 1
        theirs_ns = _added(self._others_ns, module, took_ns)
        since_ns = _added(self._since_ns, module, took_ns)
        gone = self._strangers > STRANGERS and since_ns >= TIMES * self._usual_ns
        if leader is not None and not gone and theirs_ns < TIMES * self._leader_ns:
            return False
        self._leader, self._leader_ns, self._usual_ns = weakref.ref(module), theirs_ns, took_ns
        self._others_ns.clear()
        self._since_ns.clear()
        self._strangers = 0
        return True


def _added(times_ns: dict[int, int], module: torch.nn.Module, took_ns: int) -> int:
    """The module's time with this call's."""
    if len(times_ns) > MOST_OTHERS:
        times_ns.clear()
    total_ns = times_ns[id(module)] = times_ns.get(id(module), 0) + took_ns
    return total_ns
