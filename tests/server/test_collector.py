"""Garbage is collected where it may be, and not while someone waits."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from warplint_server import collector
from warplint_server.collector import IdleCollection, collect_all, making_much


class Node:
    """Part of a circle, which only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_what_is_made_at_once_is_put_aside_and_freed_when_everything_is_looked_at() -> None:
    gc.collect()
    with making_much():
        assert not gc.isenabled()
        node = Node()
        gone = weakref.ref(node)
    assert gc.isenabled()
    del node
    gc.collect()
    assert gone() is not None
    collect_all()
    assert gone() is None


@pytest.mark.asyncio
async def test_everything_is_looked_at_once_nobody_has_edited_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "IDLE_S", 0.2)
    collected: list[float] = []
    loop = asyncio.get_running_loop()
    idle = IdleCollection(lambda: collected.append(loop.time()))
    idle.looked(much_is_new=True)
    for _ in range(4):
        await asyncio.sleep(0.1)
        idle.looked(much_is_new=False)
    edited_s = loop.time()
    assert collected == []
    await asyncio.sleep(0.4)
    assert [at_s - edited_s >= 0.15 for at_s in collected] == [True]


@pytest.mark.asyncio
async def test_a_few_edits_are_no_reason_to_look_at_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "IDLE_S", 0.0)
    collected: list[bool] = []
    idle = IdleCollection(lambda: collected.append(True))
    for _ in range(collector.MOST_LOOKS - 1):
        idle.looked(much_is_new=False)
    await asyncio.sleep(0.05)
    assert collected == []
    idle.looked(much_is_new=False)
    await asyncio.sleep(0.05)
    assert collected == [True]
