"""Findings and a capture together: what each finding was measured to cost, and what no rule reported.

docs/measured.md says to users what is done here; the limits are in ``limits``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from warplint.advice.measured.evidence import EVIDENCE, Evidence, Looked
from warplint.advice.measured.limits import LEAST_SAID_US, MOSTLY_IDLE, SEVERITY_BY_SHARE
from warplint.advice.measured.places import Place, place_of
from warplint.advice.measured.reached import Reached
from warplint.advice.measured.unedited import Unedited
from warplint.advice.measured.unreported import Waste, wastes
from warplint.profile.follow import PlacedCost
from warplint.profile.model import LineCost, Profile
from warplint.profile.notes import lost_gpu_records
from warplint.project.engine import Checked, Engine, capture_name
from warplint.project.measured_codes import DATA_WAIT
from warplint.report.figures import short_duration
from warplint.source.records import replace
from warplint.source.span import Span
from warplint.source.text import SourceText
from warplint.static.finding import Confidence, Finding, Hotness, Measured, Outcome, Severity
from warplint.static.rules.signature import At, Metric, Signature

ON_CPU = "Not judged: the capture is of a CPU, which does not show what this costs a GPU."
GPU_LOST = "Not judged: the capture's GPU records are missing, so it does not show what this costs."
NO_STEP = "Not judged: the capture holds no step."
NOT_RUN = "Not judged: this did not run in the captured steps."
NOT_REACHED = (
    "Not judged: this did not run in the captured steps, and they do not tell whether it ran before them."
)
NOTHING_RUN = "Not judged: nothing in this file ran in the captured steps."
EDITED = "Not judged: this was edited since it was measured."
EDITED_AROUND = "Not judged: the lines that would tell were edited since they were measured."
ELSEWHERE = "Not judged: its value is used in other places too, which may be where it costs."
UNTOLD = "Not judged: the capture does not hold what would tell."


@dataclass(frozen=True, slots=True)
class Joined:
    """A finding before a capture was asked, and what the capture says of it: None where nothing.

    ``finding`` is the key of ``Analysis.sites``; ``told`` the finding with that word in its message and
    severity. Findings that only measuring made have ``told`` as ``finding``.
    """

    finding: Finding
    told: Finding

    @property
    def cost_us(self) -> float:
        return self.told.measured.cost_us if self.told.measured is not None else 0.0


class Captured:
    """A capture, with what its lines show: found once, since an editor asks at every keystroke."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._wastes: dict[tuple[str, int], tuple[Waste, ...]] = {}
        self._evidence: dict[tuple[At, Metric], Evidence] = {}

    @cached_property
    def files(self) -> frozenset[str]:
        """The files of which any line was measured, as the capture names them."""
        return frozenset(cost.file for cost in self.profile.lines)

    @cached_property
    def own_layers(self) -> frozenset[str]:
        """The classes of the layers that ran whose code is the program's own."""
        return frozenset(
            layer.class_name for layer in self.profile.layers if not Path(layer.file).is_absolute()
        )

    def why_nothing(self, file: str) -> str:
        """Why nothing is said of a file none of whose lines have a cost in its present text."""
        if self.without_gpu is not None:
            return self.without_gpu
        if file in self.files:
            return EDITED if file in self.profile.sources else UNTOLD
        return NOTHING_RUN if self.follows_lines else UNTOLD

    @cached_property
    def without_gpu(self) -> str | None:
        """Why the capture shows nothing of a GPU; None where it does."""
        if self.profile.totals.on_gpu:
            return None
        if lost_gpu_records(self.profile) is not None:
            return GPU_LOST
        return ON_CPU if self.profile.totals.wall_us else NO_STEP

    @cached_property
    def follows_lines(self) -> bool:
        """Whether the capture knows which lines ran; imported traces may not."""
        return any(cost.line and cost.cpu_us for cost in self.profile.lines)

    @property
    def step_us(self) -> float:
        """A step without what the capture took; where there was none, all that was captured."""
        return self.profile.totals.program_us / max(self.profile.totals.steps, 1)

    @property
    def idle_share(self) -> float:
        """How much of a step the GPU had nothing to do, without what the capture took."""
        totals = self.profile.totals
        return (totals.gpu_idle_us - totals.capture_us) / totals.program_us if totals.program_us else 0.0

    def hides(self, evidence: Evidence) -> bool:
        """Whether the GPU does the work beside what the step waits for."""
        return evidence.is_work and self.idle_share > MOSTLY_IDLE

    def wastes(self, cost: LineCost) -> tuple[Waste, ...]:
        key = cost.file, cost.line
        if key not in self._wastes:
            self._wastes[key] = tuple(wastes(self.profile, cost))
        return self._wastes[key]

    def evidence(self, signature: Signature, place: Place) -> Evidence:
        if place.scope is At.LINE:
            return EVIDENCE[signature.metric](Looked(place.evidence, self.profile))
        key = place.scope, signature.metric
        if key not in self._evidence:
            self._evidence[key] = EVIDENCE[signature.metric](Looked(self._costs(place.scope), self.profile))
        return self._evidence[key]

    def _costs(self, scope: At) -> tuple[LineCost, ...]:
        """Those of the whole run; of a step, those of the lines whose kernels update parameters."""
        lines = self.profile.lines
        return tuple(lines if scope is At.RUN else (cost for cost in lines if cost.gpu_optimizer_us > 0))


def join(
    engine: Engine,
    checked: Checked,
    captured: Captured,
    costs: Mapping[int, PlacedCost],
    root: Path | None = None,
) -> list[Joined]:
    """The findings of a checked text with what a capture says of them, and after them the capture's own.

    ``costs`` are the capture's for this text, by line. ``root`` is the folder that the program ran in the
    project of, where that is not the engine's own.
    """
    joined: list[Joined] = []
    claimed: set[tuple[Metric, int]] = set()
    reached = Reached(checked.analysis, costs.keys(), captured.own_layers)
    file = capture_name(checked.source.path, root or engine.root)
    unedited = Unedited(captured.profile, file, checked.source, costs)
    nothing_ran = None if costs else captured.why_nothing(file)
    for finding in checked.findings:
        site = checked.analysis.sites.get(finding)
        if site is None or site.rule.proof.metric not in EVIDENCE:
            joined.append(Joined(finding, finding))
            continue
        if nothing_ran is not None:
            joined.append(Joined(finding, _unjudged(finding, nothing_ran)))
            continue
        place = place_of(finding, site, checked.analysis, costs, unedited, reached)
        told = _told(finding, site.rule.proof, place, captured, engine)
        joined.append(Joined(finding, told))
        if told.measured is not None and told.measured.outcome is Outcome.CONFIRMED:
            claimed.update((site.rule.proof.metric, line) for line in place.lines)
    found = list(_unreported(checked, captured, costs, claimed, unedited))
    return joined + [Joined(each, each) for each in engine.reported(checked, found)]


def _unreported(
    checked: Checked,
    captured: Captured,
    costs: Mapping[int, PlacedCost],
    claimed: Collection[tuple[Metric, int]],
    unedited: Unedited,
) -> Iterator[Finding]:
    """The dearest waste of each measured line that no confirmed finding has claimed, from the top.

    How long the GPU waits for data is up to the loader, too: once that is edited, nothing is known of it.
    """
    for line, placed in sorted(costs.items()):
        if placed.stale:
            continue
        said = {metric for metric, other in claimed if other == line}
        found = [
            waste
            for waste in captured.wastes(placed.cost)
            if said.isdisjoint(waste.kind.metrics)
            and (waste.kind.entry is not DATA_WAIT or unedited.has_loaders)
        ]
        if found:
            dearest = max(found, key=lambda waste: waste.evidence.cost_us)
            yield _as_finding(dearest, line, checked.source, captured)


def findings(joined: Sequence[Joined]) -> tuple[Finding, ...]:
    """What is reported, dearest first; what cost nothing, or is not known to, keeps its order after that."""
    return tuple(each.told for each in sorted(joined, key=lambda each: -each.cost_us))


def _told(
    finding: Finding, signature: Signature, place: Place, captured: Captured, engine: Engine
) -> Finding:
    """The finding with a capture's word on it: in the message, where it says something of the finding."""
    doubt = _doubt(place, captured)
    if doubt is not None:
        return _unjudged(finding, doubt)
    evidence = captured.evidence(signature, place)
    if not evidence.shows:
        doubt = _doubt_of_absence(place, evidence)
        if doubt is not None:
            return _unjudged(finding, doubt)
        said = f"Costs nothing here: it ran in the captured steps, and {evidence.absent}."
        measured = Measured(Outcome.REFUTED, said)
        return _with_message(finding, measured, Severity.HINT)
    measured = _measured(evidence, captured, Outcome.CONFIRMED)
    severity = _severity(evidence, measured, captured)
    if engine.has_own_severity(finding.code):
        severity = finding.severity
    elif not evidence.is_loss:
        severity = _milder(severity, finding.severity)
    return _with_message(finding, measured, severity)


def _unjudged(finding: Finding, why: str) -> Finding:
    return replace(finding, measured=Measured(Outcome.UNJUDGED, why))


def _doubt(place: Place, captured: Captured) -> str | None:
    """Why a capture says nothing of a place."""
    if captured.without_gpu is not None:
        return captured.without_gpu
    if not place.costs:
        return NOT_RUN if captured.follows_lines else UNTOLD
    if not place.is_unedited:
        return EDITED
    if not place.tells:
        return EDITED_AROUND
    if not place.is_reached:
        return NOT_REACHED
    return EDITED if all(placed.stale for placed in place.costs) else None


def _doubt_of_absence(place: Place, evidence: Evidence) -> str | None:
    """Why nothing follows from it that a place shows nothing."""
    if not place.has_run:
        return NOT_RUN
    if place.is_stale:
        return EDITED
    if not place.is_whole:
        return ELSEWHERE
    return None if evidence.refutes else UNTOLD


def _with_message(finding: Finding, measured: Measured, severity: Severity) -> Finding:
    """What was measured stands first: it is what the message is read for."""
    message = f"{measured.sentence} {finding.message}"
    return replace(finding, message=message, severity=severity, measured=measured)


def _measured(evidence: Evidence, captured: Captured, outcome: Outcome) -> Measured:
    share = evidence.cost_us / captured.step_us if captured.step_us else 0.0
    lost = evidence.lost(captured.profile.name, captured.step_us)
    return Measured(outcome, _cost_in_words(evidence, captured), evidence.cost_us, share, lost)


def _cost_in_words(evidence: Evidence, captured: Captured) -> str:
    """``Costs 3.1 ms of a 17 ms step: 8 pageable copies, 8 waits.``"""
    whole = short_duration(captured.step_us)
    of = f"a {whole} step" if captured.profile.totals.steps else f"the captured {whole}"
    least = "at least " if evidence.is_least else ""
    amount = (
        f"{least}{short_duration(evidence.cost_us)}"
        if evidence.cost_us >= LEAST_SAID_US
        else "nothing measurable"
    )
    beside = (
        (f"while the GPU idles {captured.idle_share:.0%} of the step",) if captured.hides(evidence) else ()
    )
    return f"{evidence.verb.capitalize()} {amount} of {of}: {', '.join((*evidence.words, *beside))}."


def _severity(evidence: Evidence, measured: Measured, captured: Captured) -> Severity:
    severity = severity_of(measured.share)
    return _milder(severity, Severity.INFO) if captured.hides(evidence) else severity


def _milder(one: Severity, other: Severity) -> Severity:
    return max(one, other, key=list(Severity).index)


def severity_of(share: float) -> Severity:
    return next(severity for least, severity in SEVERITY_BY_SHARE if share >= least)


def _as_finding(waste: Waste, line: int, source: SourceText, captured: Captured) -> Finding:
    measured = _measured(waste.evidence, captured, Outcome.FOUND)
    finding = Finding(
        waste.kind.entry.code,
        waste.kind.entry.name,
        waste.kind.message,
        _text_of_line(source, line),
        Confidence.CERTAIN,
        Hotness.STEP if captured.profile.totals.steps else Hotness.UNKNOWN,
    )
    return _with_message(finding, measured, _severity(waste.evidence, measured, captured))


def _text_of_line(source: SourceText, line: int) -> Span:
    """A line without its indentation."""
    text = source.line(line)
    start = source.line_starts[line - 1]
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
