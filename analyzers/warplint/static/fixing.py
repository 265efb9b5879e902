"""From a finding to the edit that mends it, and from a file to its mended text.

Only the text of the expression to rewrite is parsed with libcst, in parentheses: indentation and line breaks
inside outer brackets then never matter, and triple-quoted strings stay as they are. What comes back goes into
the enclosing statement, which must parse and be the same tree everywhere but at the site.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from warplint.source.records import dataclass
from warplint.source.span import Span
from warplint.source.text import LINE_END, SourceText
from warplint.static.finding import Applicability, Edit, Finding

if TYPE_CHECKING:
    import libcst as cst

    from warplint.static.analyze import Analysis, Analyzer, Site
    from warplint.static.facts import Facts

MAX_ROUNDS = 10
"""Fixes of one file that wait for each other (nested sites) need a round each; nesting is never this deep."""


@dataclass(frozen=True, slots=True)
class FixResult:
    """A mended text, the findings whose fix is in it, and those that remain in it."""

    text: str
    applied: list[Finding]
    left: list[Finding]


def edits(analysis: Analysis, finding: Finding) -> tuple[Edit, ...]:
    """The edits of ``analysis.source`` that mend a finding; empty when no fix is right after all."""
    if finding.fix is Applicability.NONE:
        return ()
    site = analysis.sites[finding]
    text = analysis.source.text
    span = site.facts.span(site.node)
    rewritten = _rewritten(site, text[span.start : span.end])
    if rewritten is None:
        return ()
    replacement, modules = rewritten
    edit = Edit(span, replacement)
    imports = _import_edits(analysis.source, modules)
    if imports is None or not _changes_only_the_site(text, edit, site.node, site.facts):
        return ()
    return (_narrowed(text, edit), *imports)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all edits made, the same edit given twice once. Raises ValueError where edits overlap."""
    parts: list[str] = []
    end = 0
    for edit in sorted(set(edits), key=lambda edit: (edit.span, edit.text)):
        if edit.span.start < end:
            raise ValueError(f"edits overlap at {edit.span.start}")
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])


def fix_reported(
    analyzer: Analyzer, source: SourceText, reported: Callable[[Analysis], Iterable[Finding]], unsafe: bool
) -> FixResult:
    """Mend every finding that is ``reported`` and has a fix, unsafe ones only when ``unsafe``.

    Fixes whose edits overlap wait for the next round, on the text mended so far. ``applied`` holds each
    finding as it stood in the text of its round. ``reported`` is asked each round: comments that silence
    findings move with the text.
    """
    wanted = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    applied: list[Finding] = []
    analysis = analyzer.analyze(source)
    for _ in range(MAX_ROUNDS):
        fixable = [found for found in reported(analysis) if found.fix in wanted]
        chosen = _compatible(analysis, fixable)
        if not chosen:
            break
        text = apply_edits(source.text, itertools.chain.from_iterable(chosen.values()))
        source = SourceText(text, source.path, source.encoding)
        analysis = analyzer.analyze(source, analysis)
        applied += chosen
    return FixResult(source.text, applied, [*reported(analysis)])


def _compatible(analysis: Analysis, findings: Iterable[Finding]) -> Mapping[Finding, tuple[Edit, ...]]:
    """The findings that can be mended together, each with its edits, the first of clashing ones kept."""
    chosen: dict[Finding, tuple[Edit, ...]] = {}
    taken: set[Edit] = set()
    for finding in findings:
        mended = edits(analysis, finding)
        if mended and not any(_clash(edit, other) for edit in mended for other in taken):
            chosen[finding] = mended
            taken.update(mended)
    return chosen


def _clash(one: Edit, other: Edit) -> bool:
    """Whether two edits can't both be made: two insertions at one place have no order."""
    return one != other and (one.span.overlaps(other.span) or one.span.start == other.span.start)


def _rewritten(site: Site, text: str) -> tuple[str, tuple[str, ...]] | None:
    """What takes the place of ``text``, the site's own, and the modules it needs imported."""
    import libcst as cst

    newlines = set(LINE_END.findall(text))
    if len(newlines) > 1 or _unlike(text, site.node):
        return None
    newline = newlines.pop() if newlines else "\n"
    try:
        twin = cst.parse_expression(f"({LINE_END.sub(chr(10), text)})")
    except cst.ParserSyntaxError:
        # ast reads what the running Python reads; libcst can lag a version behind it.
        return None
    twin = twin.with_changes(lpar=twin.lpar[1:], rpar=twin.rpar[:-1])
    rewrite = site.rule.fix(twin, site.node, site.facts)
    if rewrite is None:
        return None
    code = cst.Module([]).code_for_node(_standing_anywhere(rewrite.node)).replace("\n", newline)
    return None if code == text else (code, rewrite.imports)


def _standing_anywhere(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression, in parentheses when a neighbouring operator could tear it apart."""
    import libcst as cst

    if node.lpar or isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _unlike(text: str, node: ast.expr) -> bool:
    """Whether the node's positions are not those of its text, as inside f-strings before Python 3.12."""
    try:
        return [*_shape(ast.parse(f"({text})", mode="eval").body)] != [*_shape(node)]
    except SyntaxError:
        return True


def _changes_only_the_site(text: str, edit: Edit, node: ast.expr, facts: Facts) -> bool:
    """Whether the enclosing statement still parses and is the same tree everywhere but at the site."""
    statement = facts.statement(node)
    span = facts.span(statement)
    mended = text[span.start : edit.span.start] + edit.text + text[edit.span.end : span.end]
    try:
        instead = ast.parse(f"({edit.text})", mode="eval").body
        found = _parsed(mended, _indentation(text, span.start))
    except SyntaxError:
        return False
    return [*_shape(found)] == [*_shape(statement, node, instead)]


def _indentation(text: str, offset: int) -> str:
    """The blanks before a statement, or none for one that follows something else on its line."""
    # A form feed starts the count of blanks anew.
    line = LINE_END.split(text[:offset])[-1].rpartition("\f")[2]
    return line if not line.strip(" \t") else ""


def _parsed(statement: str, indent: str) -> ast.stmt:
    """One statement as ast: an indented one is parsed in a block of its own, an ``elif`` as an ``if``."""
    statement = re.sub(r"\Aelif\b", "if", statement)
    parsed = ast.parse(f"if 1:\n{indent}{statement}" if indent else statement).body[0]
    return parsed.body[0] if indent and isinstance(parsed, ast.If) else parsed


def _shape(tree: object, site: ast.AST | None = None, instead: ast.AST | None = None) -> Iterator[object]:
    """A tree flattened to comparable parts, positions left out, with another tree in the site's place."""
    if isinstance(tree, ast.AST):
        tree = instead if instead is not None and tree is site else tree
        yield type(tree)
        for name in tree._fields:
            yield from _shape(getattr(tree, name, None), site, instead)
    elif isinstance(tree, list):
        yield len(tree)
        for item in tree:
            yield from _shape(item, site, instead)
    else:
        yield type(tree)
        yield tree


def _narrowed(text: str, edit: Edit) -> Edit:
    """The same change without the characters that stay, so that fixes of nested sites don't overlap."""
    old = text[edit.span.start : edit.span.end]
    head = _shared(old, edit.text)
    tail = _shared(old[head:][::-1], edit.text[head:][::-1])
    return Edit(Span(edit.span.start + head, edit.span.end - tail), edit.text[head : len(edit.text) - tail])


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _import_edits(source: SourceText, modules: tuple[str, ...]) -> tuple[Edit, ...] | None:
    """One edit for each module that is not yet imported; None when there is no line to put it on."""
    if not modules:
        return ()
    try:
        body = ast.parse(source.text).body
    except SyntaxError:
        return None
    present = {
        alias.name
        for statement in body
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.asname is None
    }
    line = _line_for_imports(body)
    if line > (body[-1].end_lineno or line):
        return None
    place = source.line_starts[line - 1]
    newline = LINE_END.findall(source.text)[0]
    missing = [module for module in modules if module not in present]
    return tuple(Edit(Span(place, place), f"import {module}{newline}") for module in missing)


def _line_for_imports(body: list[ast.stmt]) -> int:
    """The line below the imports at the top of a module, else below its docstring, else of its first line."""
    is_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    head = [*body[:is_docstring], *itertools.takewhile(_is_import, body[is_docstring:])]
    if head:
        return (head[-1].end_lineno or head[-1].lineno) + 1
    decorators: list[ast.expr] = getattr(body[0], "decorator_list", [])
    return min([body[0].lineno, *(decorator.lineno for decorator in decorators)])


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))
