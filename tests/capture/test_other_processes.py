"""Which processes are captured: the program and torchrun's ranks, and none that they start beside."""

from __future__ import annotations

import socket
import sys
import textwrap
from pathlib import Path

from programs import OPTIMIZER, QUICKLY, TRAINING, make_project, run, says_what_it_says_plainly

PYTHON = sys.executable

LOADING = f"""
import os, sys, torch
{OPTIMIZER}
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        named = "WARPLINT_CAPTURE" in os.environ
        profiled = torch.autograd._profiler_enabled()
        return torch.tensor([float(index), float(named), float(profiled)])

def main():
    model = torch.nn.Linear(3, 4)
    optimizer = Descent(model.parameters())
    loader = torch.utils.data.DataLoader(
        Data(), batch_size=2, num_workers=2, multiprocessing_context=sys.argv[1]
    )
    flags = torch.zeros(2)
    for epoch in range(2):
        for batch in loader:
            flags += batch[:, 1:].sum(dim=0)
            model(batch).sum().backward()
            optimizer.step()
    print(flags.tolist())

if __name__ == "__main__":
    main()
"""


def test_forked_loader_workers_do_not_have_the_capture_of_their_parent(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=LOADING)
    # The window is open when the second epoch's workers are forked.
    done = run(root, "--after", "6", "--steps", "6", "train.py", "fork")
    assert (done.returncode, done.stdout) == (0, b"[0.0, 0.0]\n")
    assert says_what_it_says_plainly(done, PYTHON, "train.py", "fork")
    assert len(done.processes) == 1
    assert done.process.steps == list(range(1, 17))
    assert [opened["step"] for opened in done.process.opened] == [6, 9]
    forked, whole = done.process.closed
    assert (forked["step"], forked["reason"]) == (8, "the program forked")
    # One of the six was made in the first window. Shorter steps do not count, and the program makes 16.
    assert whole["step"] == min(9 + 5 + whole["lead_in"], 16)


def test_forked_workers_leave_no_file_open_that_python_warns_of(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=LOADING)
    done = run(root, *QUICKLY, "--", PYTHON, "-W", "always::ResourceWarning", "train.py", "fork")
    assert (done.returncode, done.stdout) == (0, b"[0.0, 0.0]\n")
    assert says_what_it_says_plainly(done, PYTHON, "-W", "always::ResourceWarning", "train.py", "fork")


def test_spawned_loader_workers_are_no_captured_programs(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", train=LOADING)
    done = run(root, *QUICKLY, "train.py", "spawn")
    assert (done.returncode, done.stdout) == (0, b"[0.0, 0.0]\n")
    assert says_what_it_says_plainly(done, PYTHON, "train.py", "spawn")
    assert len(done.processes) == 1


def test_a_forked_child_ends_as_it_would_and_leaves_the_capture_to_its_parent(tmp_path: Path) -> None:
    text = f"""
import ctypes, os, sys
{TRAINING}
train(3)
child = os.fork()
if child == 0:
    train(4)
    ctypes.CDLL(None).puts(b"from C")
    sys.exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
train(9)
"""
    root = make_project(tmp_path / "project", train=text)
    done = run(root, "--after", "2", "--steps", "4", "train.py")
    assert (done.returncode, done.stdout) == (0, b"from C\n6\n")
    # Python 3.12 warns a main program that forks beside threads, and Kineto has left one.
    assert [line for line in done.stderr.splitlines() if b"fork()" not in line] == []
    assert done.process.steps == list(range(1, 13))
    assert [closed["step"] for closed in done.process.closed] == [3, 9]
    assert done.process.ended


def test_what_a_captured_program_starts_is_not_followed(tmp_path: Path) -> None:
    parent = f"""
import subprocess, sys
{TRAINING}
train(7)
subprocess.run([sys.executable, "child.py"], check=True)
"""
    root = make_project(tmp_path / "project", train=parent, child=f"{TRAINING}train(7)\n")
    done = run(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.process.process["argv"][1:] == ["train.py"]


def test_each_of_torchruns_ranks_is_captured_and_the_launcher_is_not(tmp_path: Path) -> None:
    text = f"""
import os
import torch.distributed
{TRAINING}
torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(model)
train(8)
torch.distributed.barrier()
ours = [name for name in os.environ if name.startswith("WARPLINT")]
os.write(1, f"{{os.environ['RANK']}} {{ours}}\\n".encode())
torch.distributed.destroy_process_group()
"""
    root = make_project(tmp_path / "project", train=text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1"]
    done = run(root, *QUICKLY, "--", PYTHON, *words, "--master-port", str(port), "train.py")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.decode().splitlines()) == ["0 []", "1 []"]
    described = sorted((process.process["rank"], process.process["world"]) for process in done.processes)
    assert described == [(0, 2), (1, 2)]
    assert [process.closed[0]["step"] for process in done.processes] == [5, 5]


def test_what_a_program_without_torch_starts_is_captured(tmp_path: Path) -> None:
    parent = """
    import subprocess, sys
    print(subprocess.run([sys.executable, "train.py"]).returncode)
    """
    root = make_project(tmp_path / "project", launch=parent, train=f"{TRAINING}train(7)\n")
    done = run(root, *QUICKLY, "launch.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")
    assert done.process.process["argv"][1:] == ["train.py"]


def test_a_program_that_replaces_itself_is_captured(tmp_path: Path) -> None:
    text = """
    import os, sys
    if len(sys.argv) == 1:
        os.execv(sys.executable, [sys.executable, __file__, "again"])
    """
    root = make_project(tmp_path / "project", train=f"{textwrap.dedent(text)}{TRAINING}train(7)\n")
    done = run(root, *QUICKLY, "train.py")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.process.closed[0]["step"] == 5
