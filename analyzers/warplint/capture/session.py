"""A process's capture from torch's import to the program's end."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from time import perf_counter_ns

from warplint.capture import terminal
from warplint.capture.allowance import Allowance, Opening
from warplint.capture.compiled.records import Compiled
from warplint.capture.forked_child import leave_before_destructors
from warplint.capture.gpu.kineto import ProfilerWatch, may_synchronize
from warplint.capture.graphs.captures import Graphs
from warplint.capture.graphs.followed import Follower
from warplint.capture.interruptions import is_the_programs
from warplint.capture.layout import Record, raw_name
from warplint.capture.lines.sources import Sources
from warplint.capture.lines.tool_ids import GivingWay, out_of_sight
from warplint.capture.lines.user_code import UserCode
from warplint.capture.process import Rank, describe, script_folder
from warplint.capture.progress import Progress
from warplint.capture.recorder import INFO, WARNING, Recorder
from warplint.capture.settings import Settings
from warplint.capture.starting import starting_doubts
from warplint.capture.steps.clock import ModuleClock, OptimizerClock, StepKind, StepTimes
from warplint.capture.steps.lead_in import Usual
from warplint.capture.steps.regimes import LEVEL_STEPS, RegimeWatch, median_step_ns
from warplint.capture.steps.settle import UNUSED_OPTIMIZER_CALLS, reason_to_open
from warplint.capture.window import Surroundings, Window, native_method
from warplint.capture.workers.loop import FollowedWorkers, WorkerSettings

LOOK_EVERY_NS = 1_000_000_000
"""How often steps are written out, and looked at."""
EXACT_AFTER_WINDOW = 24
"""Steps after a window that are kept one by one, to be compared with those before it."""
MAX_WINDOWS = 8
"""How many a process opens at most, where forks cut them short or step times keep changing."""


class State(Enum):
    """IDLE counts steps, ARMED waits for the moment to open a window, ACTIVE has one open, ENDED is off."""

    IDLE = "idle"
    ARMED = "armed"
    ACTIVE = "active"
    ENDED = "ended"


class Session:
    """Ties the step clocks to the windows. Nothing it does may stop the user's program."""

    def __init__(self, settings: Settings) -> None:
        """Raises OSError when the capture folder cannot be written."""
        self._settings = settings
        self._rank = Rank.of_environment()
        path = Path(settings.folder) / raw_name(self._rank.rank, os.getpid())
        self._recorder = Recorder(path, self._recording_failed)
        self._progress = Progress(settings, self._rank.rank)
        folders = [Path(settings.root), *filter(None, [script_folder()])]
        user_code = UserCode(folders, settings.include, Path(settings.cwd))
        self._around = Surroundings(
            settings=settings,
            rank=self._rank,
            recorder=self._recorder,
            user_code=user_code,
            sources=Sources(self._recorder, user_code, time.time()),
            watch=ProfilerWatch(self._foreign_profiler_starts),
        )
        self._workers = FollowedWorkers(
            WorkerSettings.of(settings, folders, self._rank.rank, os.getpid(), time.time()), user_code
        )
        self._compiled = Compiled(self._recorder, self._around.sources, user_code)
        self._graphs = Graphs(self._recorder, self._open_window_number, Follower(self._around).follow)
        self._giving_way = GivingWay(self._tool_taken)
        self._optimizer_clock = OptimizerClock(self._on_optimizer_step)
        self._module_clock = ModuleClock(self._on_module_call)
        self._kind = StepKind.MODULE
        self._times = StepTimes()
        self._looked_ns = perf_counter_ns()
        self._regime: RegimeWatch | None = None
        self._allowance = Allowance(settings.share, self._looked_ns)
        self._opening: Opening | None = None
        self._state = State.IDLE
        self._window: Window | None = None
        self._windows = 0
        self._window_kind: StepKind | None = None
        self._foreign_thread = False
        self._counts_calls = False
        self._steps_wanted = settings.steps
        """Whole steps still to be captured."""

    def begin(self) -> None:
        """Record who we are, and start counting steps."""
        with self._guarded():
            self._begin()

    def _begin(self) -> None:
        self._recorder.json(Record.PROCESS, describe(self._settings, self._rank, native_method(), None))
        for name in self._around.user_code.missing:
            self._recorder.note(WARNING, "include-missing", f"--include {name}: there is no such package")
        for code, text in starting_doubts():
            self._recorder.note(INFO, code, text)
        self._around.watch.install()
        self._giving_way.install()
        self._compiled.install()
        self._graphs.install()
        self._workers.install()
        self._optimizer_clock.start()
        self._counts_calls = self._module_clock.start()
        atexit.register(self.finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_child=self._forsake)
        self._state = State.ARMED

    def finish(self) -> None:
        """Close what is open and the file: the program ends."""
        with self._guarded():
            if self._state is State.ENDED:
                return
            self._close_window("the program ended", perf_counter_ns(), ending=True)
            self._compiled.write()
            self._compiled.note_what_is_lost()
            self._graphs.note_what_is_lost()
            self._note_what_was_not_captured()
            self._times.log.finish(self._times.count)
            self._write_steps()
            self._recorder.json(Record.END, {"t_ns": perf_counter_ns(), "reason": "exit"})
            self._switch_off()

    def _on_optimizer_step(self, t_ns: int) -> None:
        if self._kind is not StepKind.OPTIMIZER:
            with self._guarded():
                self._begin_training()
        self._on_step(t_ns)

    def _on_module_call(self, t_ns: int) -> None:
        if self._kind is StepKind.MODULE:
            self._on_step(t_ns)

    def _on_step(self, t_ns: int) -> None:
        # As ``_guarded`` does, without its cost: this runs with every step.
        try:
            self._count_step(t_ns)
        except BaseException as error:
            half_open = self._state is State.ACTIVE and self._opening is None
            if is_the_programs(error) and not half_open:
                # All that is lost is a step.
                raise
            with self._guarded():
                raise

    def _count_step(self, t_ns: int) -> None:
        if self._state is State.ENDED:
            return
        if self._state is not State.IDLE and not may_synchronize():
            return
        # A second thread that trains beside the captured one has steps of its own.
        if self._window is not None and not self._window.on_its_thread():
            return
        self._times.add(t_ns)
        self._compiled.step_ended()
        if self._state is State.ARMED:
            reason = self._reason_to_open()
            if reason is not None:
                self._open_window(reason)
            elif not self._means_to_train():
                self._progress.waiting(self._times.count, t_ns)
        elif self._state is State.ACTIVE and self._window is not None and self._window.step_ended(t_ns):
            self._close_window("its steps were made", t_ns)
        if t_ns - self._looked_ns > LOOK_EVERY_NS:
            self._looked_ns = t_ns
            self._write_steps()
            self._look_for_change(t_ns)

    def _begin_training(self) -> None:
        """The first optimizer step: what was counted before were forward passes, or another phase."""
        self._module_clock.stop()
        if self._state is State.ACTIVE:
            self._close_window("the program began to train", perf_counter_ns())
        self._kind = StepKind.OPTIMIZER
        self._times = StepTimes(self._times.count if self._windows else 0)
        self._steps_wanted = self._settings.steps
        self._regime = None
        self._state = State.ARMED

    def _look_for_change(self, t_ns: int) -> None:
        """Open another window where steps have come to take another time than in the last one."""
        if self._regime is None or self._state is not State.IDLE:
            return
        change = self._regime.look(t_ns)
        if change is None or self._windows >= MAX_WINDOWS:
            return
        if not self._allowance.allows(change.after_ns, t_ns) or not may_synchronize():
            return
        if not self._around.watch.busy():
            self._steps_wanted = self._settings.steps
            self._open_window(str(change))

    def _reason_to_open(self) -> str | None:
        times, after = self._times, self._settings.after
        if self._means_to_train() and times.count < UNUSED_OPTIMIZER_CALLS:
            return None
        if self._windows and self._kind is self._window_kind:
            return "going on after a fork"
        if after is not None:
            return f"asked for after step {after}" if times.count >= after else None
        return reason_to_open(self._kind, times)

    def _means_to_train(self) -> bool:
        """Whether the module calls that are counted may turn out to be no steps."""
        return self._kind is StepKind.MODULE and self._module_clock.optimizer_built

    def _open_window(self, reason: str) -> None:
        self._foreign_thread = not _on_python_thread()
        if self._foreign_thread or self._recorder.failed:
            return
        began_ns = perf_counter_ns()
        self._state = State.ACTIVE
        self._windows += 1
        self._window_kind = self._kind
        self._times.log.keep(self._times.count, list(self._times.recent)[-EXACT_AFTER_WINDOW:])
        self._write_steps()
        self._progress.capturing(self._steps_wanted)
        window = self._window = Window(self._windows, self._steps_wanted, self._around, self._close_asked)
        usual = Usual.of(self._times.recent)
        # The window's timeline needs a tool id too.
        out_of_sight(lambda: window.open(self._times.count, self._kind, reason, usual), leaving=1)
        window.follow_layers(self._module_clock.tool)
        self._graphs.window_opened()
        before_ns = median_step_ns(self._times.recent, LEVEL_STEPS)
        self._opening = Opening(began_ns, perf_counter_ns(), self._times.count, before_ns)

    def _open_window_number(self) -> int | None:
        return None if self._window is None else self._windows

    def _close_asked(self, reason: str) -> None:
        self._close_window(reason, perf_counter_ns())

    def _close_window(self, reason: str, t_ns: int, *, ending: bool = False) -> None:
        window, self._window = self._window, None
        if window is None:
            return
        with self._guarded():
            self._write_steps()
            self._state = State.IDLE
            self._steps_wanted = min(self._steps_wanted, window.steps_left)
            try:
                window.leave_layers()
                out_of_sight(lambda: window.close(self._times.count, t_ns, reason, ending=ending))
            except BaseException:
                window.abort()
                raise
            self._graphs.window_closed(self._windows)
            self._compiled.write()
            self._after_window(t_ns, perf_counter_ns())
            self._progress.captured()

    def _after_window(self, last_step_ns: int, now_ns: int) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            self._allowance.spend(opening.cost(self._times.count, last_step_ns, now_ns))
        self._times.log.thin_out_after(self._times.count + EXACT_AFTER_WINDOW)
        # Whoever says when to capture wants no other window.
        if self._settings.after is None:
            self._regime = RegimeWatch(self._times, now_ns)

    def _foreign_profiler_starts(self) -> None:
        if self._window is not None:
            self._recorder.note(
                WARNING,
                "profiler-started",
                "the program started a torch profiler of its own: the window was closed to make way",
            )
            self._close_window("the program started its own profiler", perf_counter_ns())

    def _tool_taken(self, tool: int) -> None:
        text = f"the program took tool id {tool} of sys.monitoring, under which we followed it"
        self._recorder.note(WARNING, "tool-taken", text)

    def _recording_failed(self) -> None:
        if self._window is not None:
            self._window.ask_to_close("it could not be written")

    def _write_steps(self) -> None:
        """Forward passes count as steps only once a window has taken them for steps."""
        if self._kind is StepKind.OPTIMIZER or self._windows:
            steps, buckets = self._times.log.take()
            if steps:
                self._recorder.steps(steps)
            if buckets:
                self._recorder.step_buckets(buckets)

    def _note_what_was_not_captured(self) -> None:
        if self._windows:
            return
        steps = self._times.count
        if not steps and not self._counts_calls:
            code = "no-steps"
            text = (
                "no optimizer made a step, and steps of inference are counted from Python 3.12 on, "
                "where sys.monitoring is free: no window was opened"
            )
        elif not steps:
            code, text = "no-steps", "the program made no step: no window was opened"
        elif self._foreign_thread:
            code, text = (
                "no-window",
                "optimizers step during backward, on autograd's threads: no window was opened",
            )
        elif self._kind is StepKind.OPTIMIZER:
            code = "no-window"
            text = (
                f"the program ended after {steps} steps, before their time had settled: "
                "no window was opened (--after N opens one after N steps)"
            )
        else:
            code = "no-window"
            text = f"the program made no optimizer step and only {steps} module calls: no window was opened"
        self._recorder.note(WARNING, code, text)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Our failures end the capture, never the program."""
        try:
            yield
        except BaseException as error:
            if is_the_programs(error):
                self._give_up(f"interrupted by {type(error).__name__}")
                raise
            self._give_up(f"{type(error).__name__}: {error}")

    def _give_up(self, why: str) -> None:
        text = f"the capture of process {os.getpid()} stopped, the program goes on: {why}"
        self._recorder.note(WARNING, "gave-up", text)
        terminal.say(text)
        window, self._window = self._window, None
        if window is not None:
            with contextlib.suppress(Exception):
                window.abort()
        self._switch_off()

    def _before_fork(self) -> None:
        """Close the window, to go on in another: a child with a copy of a running Kineto dies at its exit."""
        self._workers.before_fork()
        if self._window is not None:
            self._close_window("the program forked", perf_counter_ns())
            if self._steps_wanted > 0 and self._windows < MAX_WINDOWS:
                self._state = State.ARMED

    def _forsake(self) -> None:
        """In a forked child: we follow the program, not its workers."""
        if self._windows:
            leave_before_destructors()
        self._recorder.abandon()
        self._switch_off()

    def _switch_off(self) -> None:
        self._state = State.ENDED
        for part_off in (
            self._optimizer_clock.stop,
            self._module_clock.stop,
            self._around.watch.remove,
            self._giving_way.remove,
            self._compiled.remove,
            self._graphs.remove,
            self._workers.remove,
            self._recorder.close,
        ):
            # What cannot be taken off must not keep the other parts on, and nothing may reach the program.
            with contextlib.suppress(Exception):
                part_off()


def _on_python_thread() -> bool:
    """False on autograd's own threads, on which optimizers that step during backward run."""
    return any(thread.ident == threading.get_ident() for thread in threading.enumerate())
