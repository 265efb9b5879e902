"""Programs that do unusual things in a window: each runs as it would, its lines right or said not to be.

A comment ``# -> sinc`` in a program says that this line, and no other, calls the operator ``aten::sinc``: the
trace is held against it. What a program prints is known beforehand, so it runs once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from operators import assert_marked_operators_are_on_their_lines, placed_operators
from programs import ON_MONITORING, OPTIMIZER, Run, make_project, run, run_plainly

STEPPING = f"""
import contextlib, os, sys, torch
{OPTIMIZER}
model = torch.nn.Linear(8, 8)
optimizer = Descent(model.parameters())
x = torch.ones(3)
def step(extra=None):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).sum()
    if extra is not None:
        loss = loss + extra()
    loss.backward()
    optimizer.step()
"""
"""Defines ``step()``."""
OPTIONS = ("--after", "3", "--steps", "3")


def captured(tmp_path: Path, text: str, *options: str, stdin: bytes | None = None) -> Run:
    root = make_project(tmp_path / "project", train=STEPPING + text)
    return run(root, *(options or OPTIONS), "train.py", stdin=stdin)


def assert_lines(done: Run, text: str, printed: bytes = b"") -> None:
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, b"")
    assert [window["reason"] for window in done.process.closed] == ["its steps were made"]
    assert_marked_operators_are_on_their_lines(done.folder, STEPPING + text)


CHECKPOINTS = """
from torch.utils.checkpoint import checkpoint
def block(x):
    y = torch.sinc(x)  # -> sinc
    return y.cosh()  # -> cosh
def reentrant(x):
    y = torch.erf(x)  # -> erf
    return y * 2
def both():
    x = torch.randn(4, 4, requires_grad=True)
    y = checkpoint(block, x, use_reentrant=False)
    return checkpoint(reentrant, y, use_reentrant=True).sum()
for _ in range(8):
    step(both)
"""


def test_a_checkpoint_runs_its_lines_again_in_the_backward_pass(tmp_path: Path) -> None:
    done = captured(tmp_path, CHECKPOINTS)
    assert_lines(done, CHECKPOINTS)
    found = placed_operators(done.folder)
    for name in ("sinc", "cosh", "erf"):
        again = [each.again for each in found if each.name == name]
        # A lead-in step and three more, each of them forward and again.
        assert (again.count(False), again.count(True)) == (4, 4), name
    assert not any(each.again for each in found if each.name == "cos"), "the gradient of sinc"


FUNCTIONS_AND_HOOKS = """
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sinc(x)  # -> sinc
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (
            grad
            * torch.special.i0e(x)
        )
def before(module, args):
    torch.erf(args[0])  # -> erf
def after(module, args, out):
    return out.cosh()  # -> cosh
def backward(module, grad_in, grad_out):
    torch.special.erfcx(grad_out[0])  # -> special_erfcx
def gradient(grad):
    return torch.special.ndtri(grad)  # -> special_ndtri
def accumulated(parameter):
    torch.asinh(parameter)  # -> asinh
def before_step(optimizer, args, kwargs):
    torch.lgamma(x)  # -> lgamma
def after_step(optimizer, args, kwargs):
    torch.digamma(x)  # -> digamma
def pack(tensor):
    return torch.acosh(tensor.detach())  # -> acosh
def unpack(tensor):
    return torch.special.log_ndtr(tensor)  # -> special_log_ndtr
def extra():
    return Mine.apply(torch.randn(4, 4, requires_grad=True)).sum()
model.register_forward_pre_hook(before)
model.register_forward_hook(after)
model.register_full_backward_hook(backward)
model.weight.register_hook(gradient)
model.weight.register_post_accumulate_grad_hook(accumulated)
optimizer.register_step_pre_hook(before_step)
optimizer.register_step_post_hook(after_step)
for _ in range(8):
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        step(extra)
"""


def test_hooks_and_a_functions_own_backward_are_on_their_own_lines(tmp_path: Path) -> None:
    done = captured(tmp_path, FUNCTIONS_AND_HOOKS)
    text = STEPPING + FUNCTIONS_AND_HOOKS
    assert_marked_operators_are_on_their_lines(done.folder, text)
    found = placed_operators(done.folder)
    head = text.splitlines().index("        return (") + 1
    assert {each.line for each in found if each.name == "special_i0e"} == {head}, "a statement's first line"
    assert not any(each.again for each in found)
    # A warning of torch's comes once, as it does without us.
    assert done.stderr.count(b"UserWarning: Full backward hook") == 1


THREADS_AND_TASKS = """
import asyncio, contextvars, queue, threading
variable = contextvars.ContextVar("variable", default=0)
def inside():
    torch.erf(x)  # -> erf
async def produce(count):
    for _ in range(count):
        await asyncio.sleep(0)
        yield torch.sinc(x)  # -> sinc
async def consume(count):
    async for got in produce(count):
        (got.cosh(), await asyncio.sleep(0), got.lgamma())  # -> cosh, lgamma
class Resource:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return torch.asinh(x)  # -> asinh
    async def __aexit__(self, *error):
        await asyncio.sleep(0)
        torch.acosh(x)  # -> acosh
def in_context():
    variable.set(5)
    torch.digamma(x)  # -> digamma
async def main():
    for _ in range(8):
        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        await asyncio.gather(consume(3), consume(2))
        async with Resource() as resource:
            torch.special.i0e(resource)  # -> special_i0e
        contextvars.copy_context().run(in_context)
        step()
    print(variable.get())
asyncio.run(main())
"""


def test_threads_and_tasks_are_each_on_their_own_lines(tmp_path: Path) -> None:
    assert_lines(captured(tmp_path, THREADS_AND_TASKS), THREADS_AND_TASKS, b"0\n")


FRAMES = """
def generator(x):
    try:
        while True:
            got = yield torch.sinc(x)  # -> sinc
            if got is not None:
                torch.erf(got)  # -> erf
    except ValueError:
        torch.cosh(x)  # -> cosh
        yield 1
    finally:
        torch.asinh(x)  # -> asinh
def outer(x):
    return (yield from generator(x))
def fails(depth):
    if depth == 0:
        raise KeyError("no")
    try:
        fails(depth - 1)
    finally:
        torch.acosh(x)  # -> acosh
class Key:
    def __lt__(self, other):
        torch.lgamma(x)  # -> lgamma
        raise ValueError
class Dies:
    def __del__(self):
        torch.digamma(x)  # -> digamma
def deep(depth):
    try:
        return deep(depth + 1)
    except RecursionError:
        return depth
def f():
    return torch.special.i0e(x)  # -> special_i0e
def g():
    return torch.special.erfcx(x)  # -> special_erfcx
original = f.__code__
for index in range(8):
    close_me = outer(x)
    next(close_me), close_me.send(x), close_me.throw(ValueError), close_me.close()
    with contextlib.suppress(KeyError):
        fails(3)
    with contextlib.suppress(ValueError):
        sorted([Key(), Key()])
    Dies()
    f.__code__ = g.__code__
    f()
    f.__code__ = original.replace(co_name="renamed")
    f()
    exec(compile("torch.special.ndtri(x)", "<generated>", "exec"))  # -> special_ndtri
    (next(generator(x)), x.log1p())  # -> log1p
    depth = deep(0)
    step()
print(depth > 500)
"""


def test_frames_may_be_left_in_any_way(tmp_path: Path) -> None:
    assert_lines(captured(tmp_path, FRAMES), FRAMES, b"True\n")


SIGNALS = """
import importlib, signal
sys.path.insert(0, os.getcwd())
import helper
def handler(number, frame):
    torch.cosh(x)  # -> cosh
signal.signal(signal.SIGUSR1, handler)
for index in range(8):
    os.kill(os.getpid(), signal.SIGUSR1)
    importlib.reload(helper).go(x)
    step()
    torch.erf(x)  # -> erf
"""


def test_signal_handlers_and_reloaded_modules_are_followed(tmp_path: Path) -> None:
    root = make_project(
        tmp_path / "project",
        train=STEPPING + SIGNALS,
        helper="import torch\ndef go(x):\n    return torch.sinc(x)\n",
    )
    done = run(root, *OPTIONS, "train.py")
    assert_lines(done, SIGNALS)
    assert {(each.file, each.line) for each in placed_operators(done.folder) if each.name == "sinc"} == {
        ("helper.py", 3)
    }


ENDINGS = {
    "exit in a step": ("def extra(): sys.exit(7)\nfor _ in range(4): step()\nstep(extra)", 7, b"bye\n"),
    "interrupt in a step": (
        "def extra(): raise KeyboardInterrupt\n"
        "for _ in range(4): step()\n"
        "try: step(extra)\n"
        "except KeyboardInterrupt: print('caught')",
        0,
        b"caught\nbye\n",
    ),
    # One that is inside an operator when the interpreter ends is killed by C++, with or without us.
    "a daemon thread that runs on": (
        "import threading\n"
        "def forever():\n"
        "    while True: sum(range(100))\n"
        "threading.Thread(target=forever, daemon=True).start()\n"
        "for _ in range(5): step()",
        0,
        b"bye\n",
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_may_end_in_its_window_in_any_way(tmp_path: Path, ending: str) -> None:
    text, returncode, printed = ENDINGS[ending]
    text = f"import atexit\natexit.register(lambda: print('bye'))\n{text}\n"
    done = captured(tmp_path, text, "--after", "2", "--steps", "50")
    assert (done.returncode, done.stdout, done.stderr) == (returncode, printed, b"")
    process = done.process
    assert process.ended
    assert process.closed[0]["trace"] is not None


def test_a_program_may_replace_itself_in_its_window(tmp_path: Path) -> None:
    text = """
for _ in range(5): step()
os.execv(sys.executable, [sys.executable, "-c", "print('after')"])
"""
    done = captured(tmp_path, text, "--after", "2", "--steps", "50")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"after\n", b"")
    process = done.process
    assert (len(process.opened), process.closed, process.ended) == (1, [], False)


TAKES_IDS = """
m = getattr(sys, "monitoring", None)
calls = []
def f(): return torch.sinc(x)
for index in range(10):
    f()
    step()
    if m and index == 4:
        {take}
        m.register_callback(3, m.events.PY_START, lambda code, offset: calls.append(code.co_name))
        m.set_local_events(3, f.__code__, m.events.PY_START)
print(calls, m and [m.get_tool(tool) for tool in range(6)], m and m.use_tool_id.__name__)
"""
FREES = 'any(m.free_tool_id(tool) for tool in (3, 4) if m.get_tool(tool)); m.use_tool_id(3, "theirs")'


@pytest.mark.parametrize(
    ("take", "note"),
    [('m.use_tool_id(3, "theirs")', "tool-taken"), (FREES, "timeline-lost")],
    ids=["asks for it", "frees both"],
)
def test_a_program_that_takes_a_tool_id_of_ours_has_it(tmp_path: Path, take: str, note: str) -> None:
    done = captured(tmp_path, TAKES_IDS.format(take=take))
    calls = ["f"] * 5 if ON_MONITORING else []
    ids = [None, None, None, "theirs", None, None] if ON_MONITORING else None
    printed = f"{calls} {ids} {'use_tool_id' if ON_MONITORING else None}\n".encode()
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, b"")
    process = done.process
    assert process.ended and process.closed[0]["reason"] == "its steps were made"
    assert (note in process.notes) is ON_MONITORING


DEBUGGED = """
import pdb
for index in range(9):
    if index == 4:
        pdb.set_trace()
    torch.sinc(x)
    step()
    torch.erf(x)  # -> erf
"""


def test_a_debugger_in_the_window_works_and_lines_come_back(tmp_path: Path) -> None:
    commands = b"next\nnext\ncontinue\n"
    done = captured(tmp_path, DEBUGGED, stdin=commands)
    plainly = run_plainly(tmp_path / "project", sys.executable, "train.py", input=commands)
    assert (done.returncode, done.stdout) == (plainly.returncode, plainly.stdout)
    assert done.process.closed[0]["reason"] == "its steps were made"
    text = (STEPPING + DEBUGGED).splitlines()
    last_two_steps = [each.line for each in placed_operators(done.folder) if each.name == "erf"][-1:]
    assert last_two_steps == [text.index("    torch.erf(x)  # -> erf") + 1]


OTHER_TOOLS = """
m = getattr(sys, "monitoring", None)
seen = []
def f():
    y = torch.sinc(x)  # -> sinc
    return y.erf()  # -> erf
def line(code, number):
    seen.append(number)
    return m.DISABLE
def profile(frame, event, argument):
    if frame.f_code is f.__code__ and event in ("call", "return"): seen.append(event)
if m:
    m.use_tool_id(m.DEBUGGER_ID, "debugger")
    m.register_callback(m.DEBUGGER_ID, m.events.LINE, line)
    m.set_local_events(m.DEBUGGER_ID, f.__code__, m.events.LINE)
for index in range(8):
    if m: m.restart_events()
    sys.setprofile(profile)
    f()
    sys.setprofile(None)
    step()
print(len(seen))
"""


def test_breakpoints_and_profile_functions_of_the_program_see_the_same(tmp_path: Path) -> None:
    # Two lines, a call and a return each time.
    assert_lines(captured(tmp_path, OTHER_TOOLS), OTHER_TOOLS, b"32\n" if ON_MONITORING else b"16\n")
