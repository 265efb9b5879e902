"""Records mean what the standard dataclasses mean."""

from __future__ import annotations

import dataclasses
import operator
import pickle
from typing import Any, ClassVar

import pytest

from warplint.source import records


@records.dataclass(frozen=True, slots=True, order=True)
class Point:
    """A place."""

    origin: ClassVar[str] = "top"
    x: int
    y: int = 0
    marks: list[str] = records.field(default_factory=list, compare=False)

    @property
    def sum(self) -> int:
        return self.x + self.y


@records.dataclass(slots=True, eq=False)
class Node:
    name: str
    parent: Node | None = records.field(init=False)

    def __post_init__(self) -> None:
        self.name = self.name.strip()


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Standard:
    x: int
    y: int = 0
    marks: list[str] = dataclasses.field(default_factory=list, compare=False)


def test_fields_take_values_defaults_and_fresh_values() -> None:
    one, other = Point(1), Point(x=1, y=2)
    one.marks.append("seen")
    assert (one.x, one.y, one.marks, one.sum) == (1, 0, ["seen"], 1)
    assert (other.y, other.marks, other.origin, Point.__doc__) == (2, [], "top", "A place.")


@pytest.mark.parametrize("named", [{}, {"x": 1, "z": 2}, {"marks": []}])
def test_wrong_values_are_refused(named: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Point(**named)


def pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    return [(one, two) for one in values for two in values]


def test_comparing_hashing_and_printing_are_those_of_the_standard_library() -> None:
    values = [(1, 2, ["a"]), (1, 2, ["b"]), (2, 1, [])]
    ours, theirs = [Point(*value) for value in values], [Standard(*value) for value in values]
    assert [one == two for one in ours for two in ours] == [one == two for one in theirs for two in theirs]
    for order in (operator.lt, operator.le, operator.gt, operator.ge):
        assert [order(*pair) for pair in pairs(ours)] == [order(*pair) for pair in pairs(theirs)]
    assert len(set(ours)) == len(set(theirs)) == 2
    assert repr(ours[0]) == repr(theirs[0]).replace("Standard", "Point")
    assert ours[0] != theirs[0]


def test_without_eq_each_is_itself_alone() -> None:
    node = Node(" root ")
    assert node.name == "root"
    assert node != Node("root")
    assert len({node, Node("root")}) == 2
    with pytest.raises(AttributeError):
        node.parent  # noqa: B018


def test_a_record_that_holds_itself_is_printed() -> None:
    node = Node("root")
    node.parent = node
    assert repr(node) == "Node(name='root', parent=...)"


def test_copies_and_pickles_are_equal() -> None:
    point = Point(1, 2, ["a"])
    assert pickle.loads(pickle.dumps(point)) == point
    changed = records.replace(point, y=3)
    assert (changed.x, changed.y, changed.marks, point.y) == (1, 3, ["a"], 2)
    with pytest.raises(TypeError):
        records.replace(point, z=1)
