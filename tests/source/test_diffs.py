"""Where lines go between two versions."""

from __future__ import annotations

import random
import time

from warplint.source.diffs import moved_lines


def test_what_stays_keeps_its_number() -> None:
    assert moved_lines(["a", "b"], ["a", "b"]) == {1: 1, 2: 2}


def test_lines_move_with_what_is_inserted_and_removed() -> None:
    old = ["import x", "", "def f():", "    a", "    b", "", "def g():", "    c"]
    new = ["import x", "import y", "", "def f():", "    b", "", "def g():", "    c", "    d"]
    assert moved_lines(old, new) == {1: 1, 2: 3, 3: 4, 5: 5, 6: 6, 7: 7, 8: 8}


def test_a_changed_line_is_absent() -> None:
    assert moved_lines(["a", "b", "c"], ["a", "B", "c"]) == {1: 1, 3: 3}


def test_nothing_in_common() -> None:
    assert moved_lines(["a"], ["b"]) == {}
    assert moved_lines([], ["a"]) == {}
    assert moved_lines(["a"], []) == {}


def test_repeated_lines_stay_with_their_neighbours() -> None:
    old = ["def f():", "    x()", "    return", "", "def g():", "    y()", "    return"]
    new = ["def g():", "    y()", "    return"]
    assert moved_lines(old, new) == {5: 1, 6: 2, 7: 3}


def test_a_moved_function_does_not_cross_what_stays() -> None:
    old = ["f", "f1", "g", "g1", "h", "h1"]
    new = ["g", "g1", "f", "f1", "h", "h1"]
    moved = moved_lines(old, new)
    assert {5, 6} <= moved.keys()
    assert sorted(moved.values()) == [moved[line] for line in sorted(moved)]


def test_every_mapping_is_true_and_rises() -> None:
    generator = random.Random(7)
    for _ in range(200):
        old = [generator.choice("abcdefgh") for _ in range(generator.randrange(30))]
        new = list(old)
        for _ in range(generator.randrange(6)):
            place = generator.randrange(len(new) + 1)
            new[place : place + generator.randrange(3)] = generator.choices(
                "abcxyz", k=generator.randrange(3)
            )
        moved = moved_lines(old, new)
        assert all(old[line - 1] == new[there - 1] for line, there in moved.items())
        assert sorted(moved.values()) == [moved[line] for line in sorted(moved)]
        assert len(set(moved.values())) == len(moved)


def test_a_long_file_edited_at_both_ends_takes_no_time() -> None:
    old = [line for number in range(10_000) for line in ("", f"x = f({number})", ")")]
    new = ["# head", *old[1:-1], "# tail"]
    start = time.perf_counter()
    moved = moved_lines(old, new)
    assert time.perf_counter() - start < 2
    assert len(moved) == len(old) - 2


def test_a_long_rewrite_of_repeated_lines_takes_no_time() -> None:
    old = ["a", "b"] * 10_000
    new = ["c", "b", "a"] * 10_000
    start = time.perf_counter()
    moved_lines(old, new)
    assert time.perf_counter() - start < 2
