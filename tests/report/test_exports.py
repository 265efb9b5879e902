"""Exports open in the viewers they are for: each against its format's rules, from real captures and imported
traces."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import fastjsonschema
import pytest

PROFILE_DATA = Path(__file__).parents[1] / "profile" / "data"
SPEEDSCOPE = Path(__file__).parent / "data" / "speedscope" / "file-format-schema.json"

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(64, 64)
        self.linear2 = nn.Linear(64, 8)

    def forward(self, x):
        return self.linear2(torch.relu(self.linear1(x)))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(8):
    loss = net(torch.randn(16, 64)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def warplint(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warplint", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False)


def export(folder: Path, kind: str) -> Any:
    done = warplint("export", str(folder), "--format", kind, cwd=folder.parent)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture from an H200, with a GPU and no layers."""
    unpacked = tmp_path_factory.mktemp("h200")
    with tarfile.open(PROFILE_DATA / "h200-unet3d.tar.xz") as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / "h200-unet3d"


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture by this Python, with layers and no GPU."""
    root = tmp_path_factory.mktemp("cpu")
    (root / "pyproject.toml").write_text("")
    (root / "train me.py").write_text(PROGRAM)
    done = warplint("run", "--after", "2", "--steps", "4", "--", sys.executable, "train me.py", cwd=root)
    assert done.returncode == 0
    (folder,) = (root / ".warplint").iterdir()
    return folder


@pytest.fixture(scope="module")
def imported(gpu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same trace, as one that someone else made."""
    root = tmp_path_factory.mktemp("imported")
    (root / "pyproject.toml").write_text("")
    shutil.copy(gpu / "rank0.1.w1.trace.json", root / "trace.json")
    done = warplint("import", "trace.json", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (root / ".warplint").iterdir()
    return folder


@pytest.fixture(params=["gpu", "cpu", "imported"])
def capture(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


Slice = tuple[int, int, dict[str, Any]]


def slices(document: Any) -> dict[tuple[int, int], list[Slice]]:
    """By process and row: start and end in nanoseconds, and the event, outer before inner."""
    rows: dict[tuple[int, int], list[Slice]] = {}
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            row = rows.setdefault((event["pid"], event["tid"]), [])
            row.append((start, start + round(event["dur"] * 1000), event))
    return {key: sorted(row, key=lambda each: (each[0], -each[1])) for key, row in rows.items()}


def row_names(document: Any) -> dict[str, tuple[int, int]]:
    return {
        event["args"]["name"]: (event["pid"], event["tid"])
        for event in document["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name"
    }


def half_over(row: list[Slice]) -> Iterator[str]:
    """Slices that begin inside another and outlast it: a viewer drops them."""
    opened: list[int] = []
    for start, end, event in row:
        while opened and opened[-1] <= start:
            opened.pop()
        if opened and end > opened[-1]:
            yield str(event["name"])
        opened.append(end)


def test_no_slice_of_a_timeline_lies_half_over_another(capture: Path) -> None:
    document = export(capture, "perfetto")
    rows = slices(document)
    assert [name for row in rows.values() for name in half_over(row)] == []
    assert all(start >= 0 and end >= start for row in rows.values() for start, end, _ in row)
    assert set(rows) == set(row_names(document).values())


def test_a_timeline_shows_all_work_of_the_gpu_when_it_ran(gpu: Path) -> None:
    trace = json.loads((gpu / "rank0.1.w1.trace.json").read_text(encoding="utf-8"))
    categories = {"kernel", "gpu_memcpy", "gpu_memset"}
    ran = [event for event in trace["traceEvents"] if event.get("cat") in categories]
    document = export(gpu, "perfetto")
    shown = [event for row in slices(document).values() for _, _, event in row if event["pid"] > 1]
    assert len(shown) == len(ran) > 3000
    assert sum(event["dur"] for event in shown) == pytest.approx(sum(event["dur"] for event in ran))
    # The distances between starts are those of the trace, to the fitted drift of the clocks.
    first, last = min(each["ts"] for each in ran), max(each["ts"] for each in ran)
    times = [each["ts"] for each in shown]
    assert max(times) - min(times) == pytest.approx(last - first, rel=1e-4)
    names = Counter(event["args"].get("name", event["name"]) for event in shown)
    assert names == Counter(event["name"] for event in ran)
    assert "stream 7" in row_names(document)


def test_arrows_lead_from_the_call_to_the_work_it_started(gpu: Path) -> None:
    document = export(gpu, "perfetto")
    rows = slices(document)
    begins = {event["id"]: event for event in document["traceEvents"] if event["ph"] == "s"}
    ends = {event["id"]: event for event in document["traceEvents"] if event["ph"] == "f"}
    assert set(begins) == set(ends) and len(ends) > 3000
    starts = {key: {start: event["name"] for start, _, event in row} for key, row in rows.items()}
    for flow, begin in begins.items():
        end = ends[flow]
        called = starts[begin["pid"], begin["tid"]][round(begin["ts"] * 1000)]
        assert called.startswith("cu")
        assert round(end["ts"] * 1000) in starts[end["pid"], end["tid"]]
        assert end["ts"] >= begin["ts"]


def test_a_timeline_has_steps_lines_and_layers(cpu: Path) -> None:
    document = export(cpu, "perfetto")
    rows, names = slices(document), row_names(document)
    steps = [event["name"] for _, _, event in rows[names["steps"]]]
    assert steps == ["step 1", "step 2", "step 3", "step 4"]
    (lines,) = (row for name, row in names.items() if name.endswith("(steps): lines"))
    shown = {event["name"] for _, _, event in rows[lines]}
    assert {f"train me.py:{number}" for number in (12, 18, 20, 21)} <= shown
    (layers,) = (row for name, row in names.items() if name.endswith("(steps): layers"))
    called = Counter(event["name"] for _, _, event in rows[layers])
    # Four whole steps, and the one before.
    assert called["linear1: Linear[64x64] bias batch=16 fp32"] == 5
    assert called["Net: Net batch=16 fp32"] == 5


def test_work_names_its_line(gpu: Path) -> None:
    document = export(gpu, "perfetto")
    work = [event for row in slices(document).values() for _, _, event in row if event["pid"] > 1]
    lined = [event for event in work if event["args"].get("line", "").startswith("train.py:")]
    assert len(lined) > 0.99 * len(work)
    assert {event["args"]["phase"] for event in work} == {"forward", "backward", "optimizer"}


def test_speedscope_documents_keep_to_their_schema(capture: Path) -> None:
    document = export(capture, "speedscope")
    fastjsonschema.compile(json.loads(SPEEDSCOPE.read_text(encoding="utf-8")))(document)
    frames = document["shared"]["frames"]
    for profile in document["profiles"]:
        if profile["type"] == "sampled":
            assert len(profile["samples"]) == len(profile["weights"])
            assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
            assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
        else:
            opened: list[int] = []
            before = profile["startValue"]
            for event in profile["events"]:
                assert before <= event["at"] <= profile["endValue"]
                before = event["at"]
                if event["type"] == "O":
                    opened.append(event["frame"])
                else:
                    assert opened.pop() == event["frame"]
            assert opened == []


def test_speedscope_has_what_show_has(capture: Path) -> None:
    costs = export(capture, "json")
    (whole, *_) = export(capture, "speedscope")["profiles"]
    # Every microsecond is on a line or on none.
    assert whole["endValue"] == pytest.approx(costs["totals"]["wall_us"], rel=1e-3)


def nodes_of(document: Any) -> dict[int, dict[str, Any]]:
    return {node["id"]: node for node in document["nodes"]}


def self_times(document: Any) -> dict[int, float]:
    """By node, as VS Code's viewer reads samples: what the last took is what is left of the whole."""
    samples, deltas = document["samples"], document["timeDeltas"]
    times: dict[int, float] = dict.fromkeys(nodes_of(document), 0)
    left = document["endTime"] - document["startTime"] - deltas[0]
    for sample, delta in zip(samples, deltas[1:], strict=False):
        times[sample] += delta
        left -= delta
    times[samples[-1]] += left
    return times


def test_a_cpuprofile_is_one_tree_whose_samples_are_its_nodes(capture: Path) -> None:
    document = export(capture, "cpuprofile")
    nodes = nodes_of(document)
    assert len(nodes) == len(document["nodes"])
    children = [child for node in document["nodes"] for child in node["children"]]
    assert sorted([1, *children]) == sorted(nodes)
    assert len(document["samples"]) == len(document["timeDeltas"]) > 0
    assert set(document["samples"]) <= set(nodes)
    for node in document["nodes"]:
        frame = node["callFrame"]
        assert set(frame) == {"functionName", "scriptId", "url", "lineNumber", "columnNumber"}


def test_a_cpuprofile_has_each_lines_cost_at_its_line(capture: Path) -> None:
    document, costs = export(capture, "cpuprofile"), export(capture, "json")
    on_gpu = costs["totals"]["device"] != "cpu"
    times, nodes = self_times(document), nodes_of(document)
    found = {}
    for number, time in times.items():
        frame = nodes[number]["callFrame"]
        # What has no line, such as an operator of an imported trace, is known by its name.
        path = unquote(urlparse(frame["url"]).path)
        if time:
            found[Path(path).name or frame["functionName"], frame["lineNumber"] + 1] = time
    for line in costs["lines"]:
        expected = line["busy_us"] + sum(line["idle_us"].values()) if on_gpu else line["cpu_us"]
        if expected >= 1:
            name = Path(line["file"]).name if line["line"] else line["file"]
            assert found[name, line["line"]] == pytest.approx(expected, abs=1)
    assert sum(times.values()) == pytest.approx(costs["totals"]["wall_us"], rel=1e-3)


def test_urls_of_a_cpuprofile_lead_to_the_files(cpu: Path) -> None:
    document = export(cpu, "cpuprofile")
    urls = {node["callFrame"]["url"] for node in document["nodes"] if node["callFrame"]["url"]}
    assert {Path(unquote(urlparse(url).path)) for url in urls} == {cpu.parents[1] / "train me.py"}
    functions = {node["callFrame"]["functionName"] for node in document["nodes"]}
    assert {"(root)", "<module>", "forward", "forward:12", "<module>:18"} <= functions


def test_layers_of_a_real_run_have_its_calls_and_its_time(cpu: Path) -> None:
    costs = export(cpu, "json")
    layers = {layer["path"]: layer for layer in costs["layers"]}
    assert set(layers) == {"Net", "linear1", "linear2"}
    assert {layer["calls"] for layer in layers.values()} == {4}
    assert layers["linear2"]["description"] == "Linear[64x8] bias batch=16 fp32"
    assert (layers["Net"]["file"], layers["Net"]["line"]) == ("train me.py", 11)
    # What a layer's own lines took, and the linear layers that line 12 calls, is what the layers took.
    line = next(line for line in costs["lines"] if line["line"] == 12)
    assert sum(layer["cpu_us"] for layer in layers.values()) == pytest.approx(line["cpu_us"], rel=0.25)


def test_what_has_no_line_has_no_address(imported: Path) -> None:
    costs, document = export(imported, "json"), export(imported, "cpuprofile")
    named = {line["file"] for line in costs["lines"] if not line["line"]}
    assert named
    assert [node for node in document["nodes"] if node["callFrame"]["url"]] == []
    frames = export(imported, "speedscope")["shared"]["frames"]
    assert [frame for frame in frames if frame.get("file") in named] == []


def test_json_is_what_show_prints(gpu: Path) -> None:
    shown = warplint("show", "--capture", str(gpu), "--format", "json", cwd=gpu.parent)
    written = warplint("export", str(gpu), "--format", "json", cwd=gpu.parent)
    assert written.stdout == shown.stdout != ""


def test_a_file_is_written_whole_and_gzipped_by_its_name(gpu: Path, tmp_path: Path) -> None:
    for name in ("trace.json", "trace.json.gz"):
        done = warplint("export", str(gpu), "--format", "perfetto", "-o", str(tmp_path / name), cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    packed = gzip.decompress((tmp_path / "trace.json.gz").read_bytes())
    assert packed == (tmp_path / "trace.json").read_bytes()
    assert {entry.name for entry in tmp_path.iterdir()} == {"trace.json", "trace.json.gz"}


def without_raw_files(folder: Path, to: Path) -> Path:
    warplint("show", "--capture", str(folder), cwd=folder.parent)
    shutil.copytree(folder, to)
    for raw in [*to.glob("*.wlraw"), *to.glob("*.trace.json")]:
        raw.unlink()
    return to


def test_without_its_raw_files_a_capture_has_costs_and_no_timeline(gpu: Path, tmp_path: Path) -> None:
    folder = without_raw_files(gpu, tmp_path / "capture")
    done = warplint("export", str(folder), "--format", "perfetto", cwd=tmp_path)
    assert done.returncode == 2
    assert "its raw files are gone" in done.stderr
    done = warplint("export", str(folder), "--format", "speedscope", cwd=tmp_path)
    assert done.returncode == 0
    assert "only the costs are exported" in done.stderr
    assert len(json.loads(done.stdout)["profiles"]) == 1
    assert export(folder, "cpuprofile")["samples"]


def test_an_imported_capture_whose_trace_has_gone_says_which(imported: Path, tmp_path: Path) -> None:
    trace = imported.parents[1] / "trace.json"
    moved = trace.rename(tmp_path / "elsewhere.json")
    done = warplint("export", str(imported), "--format", "perfetto", cwd=tmp_path)
    moved.rename(trace)
    assert done.returncode == 2
    assert f"{trace} has gone or changed since" in done.stderr


def test_without_a_capture_it_says_how_to_make_one(tmp_path: Path) -> None:
    done = warplint("export", "--format", "json", cwd=tmp_path)
    assert done.returncode == 2
    assert "warplint run" in done.stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("missing/trace.json", "No such file or directory"),
        (".", "Is a directory"),
        ("/", "Is a directory"),
        ("/dev/full", "No space left on device"),
    ],
)
def test_a_file_that_cannot_be_written_is_said(target: str, reason: str, cpu: Path, tmp_path: Path) -> None:
    done = warplint("export", str(cpu), "--format", "json", "-o", target, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"warplint: error: {target} cannot be written: {reason}\n"
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_plain_file_is_written_and_not_replaced(cpu: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link.json").symlink_to("linked.json")
    with subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE) as reader:
        done = warplint("export", str(cpu), "--format", "json", "-o", "pipe", cwd=tmp_path)
        piped, _ = reader.communicate(timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    done = warplint("export", str(cpu), "--format", "json", "-o", "link.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(piped) == json.loads((tmp_path / "linked.json").read_bytes())
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link.json").is_symlink()
    assert len(list(tmp_path.iterdir())) == 3


def test_standard_output_that_is_full_is_said(cpu: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "warplint", "export", cpu, "--format", "json"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    said = "warplint: error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_capture_without_costs_is_refused_with_one_sentence(cpu: Path, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    folder.mkdir()
    shutil.copy(cpu / "run.json", folder)
    for kind in ("speedscope", "cpuprofile"):
        done = warplint("export", "capture", "--format", kind, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "warplint: error: capture holds no captured process: "
            "the command ran no Python that could be captured\n"
        )
