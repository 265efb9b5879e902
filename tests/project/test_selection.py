"""Which codes ``select`` and ``ignore`` leave on."""

from __future__ import annotations

import pytest

from warplint.project.selection import Selection, did_you_mean, unknown_selectors

CODES = ["WL001", "WL101", "WL102", "WL201"]


@pytest.mark.parametrize(
    ("select", "ignore", "on"),
    [
        (("WL",), (), {"WL001", "WL101", "WL102", "WL201"}),
        (("WL1",), (), {"WL101", "WL102"}),
        (("WL101",), (), {"WL101"}),
        ((), (), set()),
        (("WL",), ("WL1",), {"WL001", "WL201"}),
        (("WL101",), ("WL1",), {"WL101"}),
        (("WL1",), ("WL101",), {"WL102"}),
        (("WL101",), ("WL101",), set()),
        (("WL", "WL101"), ("WL1",), {"WL001", "WL101", "WL201"}),
    ],
)
def test_the_longest_selector_decides(select: tuple[str, ...], ignore: tuple[str, ...], on: set[str]) -> None:
    selection = Selection(select, ignore)
    assert {code for code in CODES if selection.enabled(code)} == on


def test_a_rule_in_preview_must_be_asked_for() -> None:
    assert not Selection(("WL",)).enabled("WL101", preview=True)
    assert not Selection(("WL1",)).enabled("WL101", preview=True)
    assert Selection(("WL101",)).enabled("WL101", preview=True)
    assert Selection(("WL",), preview=True).enabled("WL101", preview=True)
    assert not Selection(("WL",), ("WL101",), preview=True).enabled("WL101", preview=True)


def test_selectors_that_fit_nothing_are_found() -> None:
    assert unknown_selectors(["WL", "WL1", "WL101", "WL9", "wl1", "E501", "", "WL1 "], CODES) == [
        "WL9",
        "wl1",
        "E501",
        "",
        "WL1 ",
    ]


def test_a_near_miss_gets_a_hint() -> None:
    assert did_you_mean("selct", ["select", "ignore"]) == "; did you mean 'select'?"
    assert did_you_mean("zebra", CODES) == ""
