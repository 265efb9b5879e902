"""Files are replaced whole, and stay what they were otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from warplint.project.rewrite import RewriteError, rewrite


def test_bytes_are_replaced_and_nothing_is_left_behind(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"old\r\n")
    rewrite(file, b"old\r\n", b"new\r\n")
    assert file.read_bytes() == b"new\r\n"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"old")
    file.chmod(mode)
    rewrite(file, b"old", b"new")
    assert file.stat().st_mode & 0o7777 == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "x.py", tmp_path / "link.py"
    file.write_bytes(b"old")
    link.symlink_to("real/x.py")
    rewrite(link, b"old", b"new")
    assert link.is_symlink() and file.read_bytes() == b"new"


def test_what_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"edited")
    with pytest.raises(RewriteError, match="changed while it was being checked"):
        rewrite(file, b"old", b"new")
    assert file.read_bytes() == b"edited"


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RewriteError):
        rewrite(tmp_path / "x.py", b"old", b"new")
    assert not any(tmp_path.iterdir())
