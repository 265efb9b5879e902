"""Living with findings: comments that silence them, comments that no longer do, and baselines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine
from samples import CLEAN, SAFE, SAFE_FIXED, UNSAFE

LINE = "        steps = torch.arange(x.shape[1]).to(x.device)"
SILENCED = SAFE.replace(LINE, f"{LINE}  # warplint: ignore[WL101]")

# --add-ignore


def test_every_finding_gets_a_comment(warplint: CommandLine) -> None:
    safe, unsafe, clean = (
        warplint.write("a.py", SAFE),
        warplint.write("b.py", UNSAFE),
        warplint.write("c.py", CLEAN),
    )
    done = warplint("check", "--add-ignore")
    assert (done.returncode, done.stdout) == (0, "Found 2 findings (2 silenced).\n")
    assert safe.read_text() == SILENCED
    assert unsafe.read_text().count("# warplint: ignore[WL101]") == 1
    assert clean.read_text() == CLEAN
    assert warplint("check").stdout == "No findings in 3 files.\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "        steps = torch.arange(\n            x.shape[1],\n        ).to(x.device)\n",
            "        steps = torch.arange(\n            x.shape[1],\n        ).to(x.device)"
            "  # warplint: ignore[WL101]\n",
        ),
        (f"{LINE}  # noqa\n", f"{LINE}  # noqa  # warplint: ignore[WL101]\n"),
        (f"{LINE}  # warplint: ignore[WL201]\n", f"{LINE}  # warplint: ignore[WL201, WL101]\n"),
        (
            "        a, b = torch.arange(3).to(x.device), torch.arange(x.shape[1]).to(x.device); steps = a\n",
            "        a, b = torch.arange(3).to(x.device), torch.arange(x.shape[1]).to(x.device); steps = a"
            "  # warplint: ignore[WL101]\n",
        ),
    ],
)
def test_a_comment_stands_at_the_end_of_the_statement(warplint: CommandLine, before: str, after: str) -> None:
    file = warplint.write("net.py", SAFE.replace(f"{LINE}\n", before))
    assert warplint("check", "--add-ignore", "--ignore", "WL003").returncode == 0
    assert file.read_text() == SAFE.replace(f"{LINE}\n", after)


def test_only_what_is_selected_is_silenced(warplint: CommandLine) -> None:
    file = warplint.write("net.py", SAFE)
    assert warplint("check", "--add-ignore", "--select", "WL2").returncode == 0
    assert file.read_text() == SAFE


def test_what_cannot_be_silenced_is_still_reported(warplint: CommandLine) -> None:
    file = warplint.write("net.py", SAFE + "print 'a'\n")
    done = warplint("check", "--add-ignore", "--format", "concise")
    assert done.returncode == 1
    assert done.stdout.startswith("net.py:9:1: WL001 ") and done.stdout.count("\n") == 1
    assert file.read_text() == SILENCED + "print 'a'\n"


def test_standard_input_is_silenced_to_standard_output(warplint: CommandLine) -> None:
    assert warplint("check", "-", "--add-ignore", stdin=SAFE).stdout == SILENCED


# Unused comments


@pytest.mark.parametrize(
    ("comment", "left", "said"),
    [
        ("  # warplint: ignore[WL101]", "", "no finding of WL101 to silence"),
        ("  # warplint: ignore", "", "there is no finding to silence here"),
        ("  # warplint: ignore[host-tensor-in-hot-code]", "", "no finding of host-tensor-in-hot-code"),
        ("  # warplint: ignore[WL101, WL201] once slow", "", "no finding of WL101 and WL201"),
        ("  # noqa  # warplint: ignore[WL101]", "  # noqa", "WL101"),
        ("  # warplint: ignore[WL101]  # noqa", "  # noqa", "WL101"),
    ],
)
def test_a_comment_without_a_use_is_reported_and_removed(
    warplint: CommandLine, comment: str, left: str, said: str
) -> None:
    file = warplint.write("net.py", CLEAN.replace("import torch\n", f"import torch{comment}\n"))
    done = warplint("check", "--format", "concise")
    assert done.returncode == 1
    assert "WL003" in done.stdout and said in done.stdout
    done = warplint("check", "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 1 finding (1 fixed).\n")
    assert file.read_text() == CLEAN.replace("import torch\n", f"import torch{left}\n")


def test_only_the_codes_without_a_use_are_removed(warplint: CommandLine) -> None:
    file = warplint.write("net.py", SAFE.replace(LINE, f"{LINE}  # warplint: ignore[WL201, WL101, WL301] x"))
    done = warplint("check", "--format", "concise")
    assert done.stdout.startswith("net.py:7:56: WL003 there is no finding of WL201 and WL301 to silence")
    assert warplint("check", "--fix").returncode == 0
    assert file.read_text() == SAFE.replace(LINE, f"{LINE}  # warplint: ignore[WL101] x")


def test_a_comment_that_is_used_or_may_be_is_left_alone(warplint: CommandLine) -> None:
    warplint.write("used.py", SILENCED)
    warplint.write("broken.py", "x = 1  # warplint: ignore[WL101]\nprint 'a'\n")
    assert "WL003" not in warplint("check").stdout
    # The rule is not selected, but would find something.
    assert warplint("check", "used.py", "--select", "WL2,WL003").returncode == 0
    assert warplint("check", "used.py", "--select", "WL2,unused-suppression").returncode == 0


def test_unused_comments_can_be_ignored(warplint: CommandLine) -> None:
    warplint.write("net.py", "x = 1  # warplint: ignore[WL101]\n")
    assert warplint("check").returncode == 1
    assert warplint("check", "--ignore", "WL003").returncode == 0
    assert warplint("check", "--select", "WL1").returncode == 0


def test_a_fix_that_takes_the_use_away_takes_the_comment_along(warplint: CommandLine) -> None:
    # Two findings on one line, one silenced by name: mending the other leaves the comment.
    file = warplint.write("net.py", SAFE.replace(LINE, f"{LINE}  # warplint: ignore[WL201]"))
    done = warplint("check", "--fix")
    assert (done.returncode, done.stdout) == (0, "Found 2 findings (2 fixed).\n")
    assert file.read_text() == SAFE_FIXED


# Baselines


def test_what_is_in_the_baseline_is_not_reported(warplint: CommandLine) -> None:
    file = warplint.write("pkg/net.py", SAFE)
    done = warplint("check", "--baseline", "known.json", "--write-baseline")
    assert (done.returncode, done.stdout) == (0, "Wrote 1 finding to known.json.\n")
    known = json.loads((warplint.folder / "known.json").read_text())
    assert known["findings"] == {"pkg/net.py": {"Rotary.forward": {"WL101": 1}}}
    check = ["check", "--baseline", "known.json"]
    assert warplint(*check).returncode == 0
    file.write_text("# moved\n\n" + SAFE.replace("steps", "stairs"))
    assert (warplint(*check).returncode, warplint(*check).stderr) == (0, "")
    file.write_text(
        SAFE
        + "\n\nclass More(nn.Module):\n    def forward(self, x):\n"
        + f"{LINE}\n        return x * steps\n"
    )
    done = warplint(*check, "--format", "concise")
    assert done.returncode == 1
    assert done.stdout.startswith("pkg/net.py:13:17: WL101") and done.stdout.count("\n") == 1
    file.write_text(SAFE.replace(f"{LINE}\n", f"{LINE}\n{LINE}\n"))
    assert warplint(*check, "--format", "concise").stdout.startswith("pkg/net.py:8:17: WL101")


def test_stale_entries_are_said_and_renewed(warplint: CommandLine) -> None:
    file, gone = warplint.write("a.py", SAFE), warplint.write("b.py", SAFE)
    warplint.write("c.py", SAFE)
    check = ["check", "--baseline", "known.json"]
    warplint(*check, "--write-baseline")
    file.write_text(SAFE_FIXED)
    gone.unlink()
    done = warplint(*check)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warplint: warning: known.json is stale, --write-baseline renews it: a.py: WL101 in Rotary.forward",
        "warplint: warning: known.json is stale, --write-baseline renews it: b.py: WL101 in Rotary.forward",
    ]
    # A file that exists and is not checked is neither stale nor dropped.
    assert "c.py" not in warplint(*check, "a.py").stderr
    assert warplint(*check, "a.py", "--write-baseline").stdout == "Wrote 1 finding to known.json.\n"
    assert (warplint(*check).returncode, warplint(*check).stderr) == (0, "")


def test_a_baseline_in_another_folder_counts_from_there(warplint: CommandLine) -> None:
    warplint.write("src/net.py", SAFE)
    (warplint.folder / "ci").mkdir()
    warplint("check", "src", "--baseline", "ci/known.json", "--write-baseline")
    assert list(json.loads((warplint.folder / "ci/known.json").read_text())["findings"]) == ["../src/net.py"]
    done = CommandLine(warplint.folder / "src")("check", "--baseline", str(Path("..", "ci", "known.json")))
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--baseline", "gone.json"], "gone.json cannot be read: No such file"),
        (["--baseline", "bad.json"], "bad.json is no baseline"),
        (["--baseline", "list.json"], "list.json is no baseline"),
        (["--baseline", "next.json"], "next.json is a baseline of another version"),
        (["--write-baseline"], "--write-baseline needs --baseline FILE"),
        (["--baseline", "no/known.json", "--write-baseline"], "cannot be written"),
        (["--baseline", "next.json", "--fix"], "--baseline is for checking"),
        (["--add-ignore", "--fix"], "give one of them"),
    ],
)
def test_what_is_no_baseline_is_said(warplint: CommandLine, arguments: list[str], said: str) -> None:
    warplint.write("net.py", SAFE)
    warplint.write("bad.json", "{")
    warplint.write("list.json", "[]")
    warplint.write("next.json", '{"version": 2, "findings": {}}')
    done = warplint("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr
