"""One project's analysis: what the command line and the language server both call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from warplint.project.builtin import UNPARSABLE, UNUSED_SUPPRESSION
from warplint.project.catalogue import catalogue, catalogue_of
from warplint.project.config import Config, aimed, load_config
from warplint.project.imports import ProjectFiles
from warplint.project.measured_codes import MEASURED_CODES
from warplint.project.newest import NewestProfile
from warplint.project.notices import Notice
from warplint.project.root import find_root
from warplint.project.selection import Selection, longest_match
from warplint.project.suppressions import Suppressions, Unused, may_have_pragma, read_suppressions
from warplint.project.torch_target import TorchTargets
from warplint.source.functions import Function, functions_of_broken, functions_of_tree
from warplint.source.records import dataclass, replace
from warplint.source.text import SourceText
from warplint.static.analyze import Analysis, Analyzer
from warplint.static.finding import Applicability, Edit, Finding
from warplint.static.inference.abroad import Abroad

if TYPE_CHECKING:
    from warplint.capture.layout import LayoutError
    from warplint.profile.follow import PlacedCost
    from warplint.profile.model import Profile
    from warplint.static.fixing import FixResult
    from warplint.static.rules.rule import Rule
    from warplint.static.rules.rule_index import AnyRule


@dataclass(frozen=True, slots=True)
class Checked:
    """One text after analysis, configuration and suppressions.

    ``findings`` are sorted by place and include WL001; ``notices`` are pragmas that are not understood.
    """

    source: SourceText
    findings: tuple[Finding, ...]
    notices: tuple[Notice, ...]
    analysis: Analysis


class Engine:
    """The rules of one configuration, and the captures of one project root."""

    def __init__(
        self,
        root: Path,
        config: Config,
        *,
        unused: bool = False,
        timed: bool = False,
        packs: bool = False,
        once: bool = False,
    ) -> None:
        """``unused`` reports comments that silence nothing (WL003); ``timed`` fills ``rule_seconds``.

        ``once`` says that no text is looked at again after an edit.

        ``packs`` imports the rule packs that the configuration names. That runs code of the project, so an
        editor must not ask for it in a folder that its user does not trust. Without it, what is said about
        rules of packs is passed over.

        Raises ConfigError when the configuration names a rule that does not exist.
        """
        self.root = root
        self._reports_unused = unused
        self._catalogue = catalogue_of(config) if packs else catalogue()
        self._lacks_packs = bool(config.packs) and not packs
        self.config = self._catalogue.understood(config, strict=not self._lacks_packs)
        self.rule_seconds: defaultdict[str, float] = defaultdict(float)
        """How long each rule has taken, by code."""
        declared = self._catalogue.declared
        self._torch = self.config.torch.version
        self._wrong_for_torch = frozenset(rule.code for rule in declared if not rule.holds_for(self._torch))
        self._rules: Sequence[AnyRule] = (
            _timed(self._catalogue.rules, self.rule_seconds) if timed else declared
        )
        self._once = once
        self._files = ProjectFiles()
        self._others = Abroad(self._files)
        self._reporting: dict[Selection, Analyzer] = {}
        self._newest = NewestProfile(root)

    @classmethod
    def for_path(cls, path: Path) -> Engine:
        """The engine for a file or folder, as its own project configures it. Raises ConfigError."""
        root = find_root(path)
        return cls(root, aimed(load_config(path), root, TorchTargets()))

    def check(self, source: SourceText, previous: Checked | None = None) -> Checked:
        """Analyse any text; what did not change since ``previous`` is not parsed again."""
        return self._judge(self._analyzer.analyze(source, previous.analysis if previous else None))

    def report(self, source: SourceText) -> Checked:
        """What is reported about a text of which nothing more is asked: rules that are off do not run."""
        if may_have_pragma(source.text):
            # A comment may silence what a rule finds that is off, and then it is of use.
            return self.check(source)
        selection = self.config.selection_for(source.path)
        if selection not in self._reporting:
            rules = [rule for rule in self._rules if self._reports(rule.code, selection)]
            self._reporting[selection] = self._analyzer_of(rules)
        return self._judge(self._reporting[selection].analyze(source))

    @cached_property
    def _analyzer(self) -> Analyzer:
        return self._analyzer_of(self._rules)

    def _analyzer_of(self, rules: Sequence[AnyRule]) -> Analyzer:
        return Analyzer(rules, self.root, self._torch, self._others, once=self._once)

    def digests(self, checked: Checked) -> dict[Path, str]:
        """What tells the other files and folders that results rest on from any other state of them."""
        return {path: self._files.digest(path) for path in checked.analysis.reads}

    def edit(self, path: Path, text: str | None) -> bool:
        """Take an editor's text for a file's content when others import it; None: that on the disk again.

        Whether results may change whose ``analysis.reads`` have this file; they stay as they are.
        """
        changed = self._files.edit(path, text)
        if changed:
            self._others.forget([path])
        return changed

    def refresh(self) -> frozenset[Path]:
        """Look at files anew that others import; those that have changed since they were last looked at.

        Results stay as they are: those whose ``analysis.reads`` are among these are to be made again.
        """
        changed = self._files.changed()
        self._others.forget(changed)
        return changed

    def edits(self, checked: Checked, finding: Finding) -> tuple[Edit, ...]:
        """The edits that fix one finding; empty when it has no fix, or none that is right after all."""
        if finding.code == UNUSED_SUPPRESSION.code:
            unused = self._unused(checked.analysis, self._suppressions(checked.source))
            return tuple(each.edit for each in unused if each.span == finding.span)
        from warplint.static import fixing

        return fixing.edits(checked.analysis, finding) if finding in checked.analysis.sites else ()

    def functions(self, checked: Checked) -> list[Function]:
        """The functions of a checked text from the top, also in what does not parse."""
        found: list[Function] = []
        for placed in checked.analysis.chunks:
            chunk, before = placed.chunk, placed.line - 1
            found += (
                functions_of_tree(chunk.tree, before)
                if chunk.fault is None
                else functions_of_broken(chunk.text, before)
            )
        return sorted(found, key=lambda function: function.first)

    def fix(self, source: SourceText, unsafe: bool) -> FixResult:
        """Fix what ``check`` reports; with ``unsafe`` also where a fix may change behaviour."""
        from warplint.static import fixing

        result = fixing.fix_reported(self._analyzer, source, self._reported_by_rules, unsafe)
        # What the fixes leave without a use goes in the same run.
        checked = self.check(SourceText(result.text, source.path, source.encoding))
        unused = [found for found in checked.findings if found.code == UNUSED_SUPPRESSION.code]
        if not unused:
            return result
        text = fixing.apply_edits(
            result.text, [edit for each in unused for edit in self.edits(checked, each)]
        )
        return fixing.FixResult(text, [*result.applied, *unused], result.left)

    def _reported_by_rules(self, analysis: Analysis) -> list[Finding]:
        findings = self._judge(analysis).findings
        return [finding for finding in findings if finding.code != UNUSED_SUPPRESSION.code]

    def newest_profile(self) -> Profile | None:
        """The newest capture under the root that measured something, joined; None without one.

        Raises capture.layout.LayoutError when there are captures and none can be read.
        """
        return self._newest.get()

    def captures_passed_over(self) -> tuple[LayoutError, ...]:
        """Why newer captures than the last ``newest_profile`` could not be read."""
        return self._newest.passed_over

    def costs(
        self, source: SourceText, profile: Profile | None = None, root: Path | None = None
    ) -> dict[int, PlacedCost]:
        """What a capture measured, by line of this text: the newest, or one that was opened before.

        ``root`` is the folder that the program ran in the project of, where that is not the engine's own.
        Empty without a readable one.
        """
        from warplint.capture.layout import LayoutError
        from warplint.profile.follow import place

        try:
            profile = profile or self.newest_profile()
        except LayoutError:
            return {}
        return place(profile, capture_name(source.path, root or self.root), source) if profile else {}

    def _judge(self, analysis: Analysis) -> Checked:
        """Leave out what configuration and comments silence, and put in what could not be parsed."""
        source = analysis.source
        selection = self.config.selection_for(source.path)
        suppressions = self._suppressions(source)
        codes = {finding.code for finding in analysis.findings}
        reports = {code for code in codes if self._reports(code, selection)}
        reported = [
            finding
            for finding in analysis.findings
            if finding.code in reports and not suppressions.hide(finding.code, *_ends(source, finding))
        ]
        reported += _broken(analysis, selection)
        if self._reports_unused and selection.enabled(UNUSED_SUPPRESSION.code):
            reported += map(_as_finding, self._unused(analysis, suppressions))
        reported.sort(key=lambda finding: (finding.span.start, finding.span.end, finding.code))
        return Checked(source, self._weighed(reported), suppressions.notices, analysis)

    def reported(self, checked: Checked, found: Sequence[Finding]) -> list[Finding]:
        """Of findings made elsewhere, as by measuring, those that configuration and comments let stand."""
        source = checked.source
        selection = self.config.selection_for(source.path)
        suppressions = self._suppressions(source) if found else None
        return [
            replace(finding, severity=self.config.severity_of(finding.code, finding.severity))
            for finding in found
            if suppressions is not None
            and selection.enabled(finding.code)
            and not suppressions.hide(finding.code, *_ends(source, finding))
        ]

    def has_own_severity(self, code: str) -> bool:
        """Whether the configuration says how much findings of a code matter."""
        return longest_match(code, (selector for selector, _ in self.config.severity)) is not None

    def is_on(self, code: str) -> bool:
        """Whether a rule is on where no pattern of paths says otherwise; others run for comments' sake."""
        return self._reports(code, self.config.selection)

    def _reports(self, code: str, selection: Selection) -> bool:
        """Whether findings of a rule are reported, where no comment silences them."""
        return code not in self._wrong_for_torch and selection.enabled(code, code in self._catalogue.previews)

    def _suppressions(self, source: SourceText) -> Suppressions:
        return read_suppressions(source, self._catalogue.words, strict=not self._lacks_packs)

    def _unused(self, analysis: Analysis, suppressions: Suppressions) -> list[Unused]:
        """The comments that silence nothing; in a broken text there is no telling."""
        if not suppressions.entries or analysis.broken:
            return []
        source = analysis.source
        found = {(each.code, line) for each in analysis.findings for line in _ends(source, each)}
        # Whether a capture would find something here is not known.
        named = (each for each in suppressions.entries if each.codes is not None)
        found |= {(code, each.first_line) for each in named for code in MEASURED_CODES}
        return list(suppressions.unused(source, found))

    def _weighed(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings with the severities that they have here."""
        severities = {
            code: self.config.severity_of(code, self._catalogue.severities[code])
            for code in {finding.code for finding in findings}
        }
        return tuple(
            finding
            if finding.severity is severities[finding.code]
            else replace(finding, severity=severities[finding.code])
            for finding in findings
        )


def capture_name(path: Path, root: Path) -> str:
    """A file as captures name it: from the root with forward slashes, or absolute outside it."""
    absolute = path.absolute()
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix()


def _ends(source: SourceText, finding: Finding) -> tuple[int, int]:
    """The lines where a finding begins and ends: a comment in the statement of either silences it."""
    return source.position(finding.span.start).line, source.position(finding.span.end).line


def _broken(analysis: Analysis, selection: Selection) -> list[Finding]:
    """One WL001 for a text that does not parse throughout, at the first place that does not."""
    if not analysis.broken or selection.ignores(UNPARSABLE.code):
        return []
    first, others = analysis.broken[0], len(analysis.broken) - 1
    message = first.message + (f" ({others} more such in this file)" if others else "")
    return [Finding(UNPARSABLE.code, UNPARSABLE.name, message, first.span)]


def _timed(rules: Sequence[Rule], seconds: defaultdict[str, float]) -> list[Rule]:
    from warplint.project.timing import TimedRule

    return [cast("Rule", TimedRule(rule, seconds)) for rule in rules]


def _as_finding(unused: Unused) -> Finding:
    rules = " and ".join(unused.words)
    return Finding(
        UNUSED_SUPPRESSION.code,
        UNUSED_SUPPRESSION.name,
        f"there is no finding{f' of {rules}' if rules else ''} to silence here",
        unused.span,
        fix=Applicability.SAFE,
        fix_title="Remove what silences nothing",
    )


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    return catalogue().rules
