"""Why the steps wait for data, in one sentence: the line of the loader that they wait for."""

from __future__ import annotations

from warplint.profile.model import LineCost, Profile
from warplint.profile.sections.loader_costs import LoaderLine
from warplint.report.figures import milliseconds, share, workers_fetch
from warplint.source.quoted import quoted
from warplint.source.text import LINE_END

LEAST_WAIT = 0.02
"""Steps that spend less of their time in waiting for data have nothing to gain from a faster loader."""


def feed_sentence(profile: Profile) -> str | None:
    """None where the steps hardly wait for data."""
    totals = profile.totals
    if not totals.wall_us or totals.felt_data_us < LEAST_WAIT * totals.wall_us:
        return None
    each = "a step waits" if totals.steps else "the program waits"
    wait = f"{each} {milliseconds(totals.felt_data_us / (totals.steps or 1))} ms for data"
    if profile.loader and profile.loaders:
        loader, line = profile.loaders[0], profile.loader[0]
        return (
            f"{wait}; its {workers_fetch(loader.workers)} {share(loader.busy_share)} of the time, and "
            f"{share(line.share)} of a sample's {milliseconds(loader.sample_us)} ms is "
            f"{_named(profile, line)}: {share(line.most_spent_share)} {line.most_spent}"
        )
    dearest = max(profile.lines, key=lambda cost: cost.felt_data_us, default=None)
    if dearest is None or not dearest.felt_data_us:
        return wait
    return (
        f"{wait}; {share(dearest.felt_data_us / totals.felt_data_us)} of that is {_named(profile, dearest)}"
    )


def _named(profile: Profile, place: LoaderLine | LineCost) -> str:
    """Where it is, and its text as far as it was captured."""
    # An imported trace may name no line, but an operator or an annotation.
    name = f"{place.file}:{place.line}" if place.line else place.file
    source = profile.sources.get(place.file)
    lines = LINE_END.split(source.text) if source else []
    text = quoted(lines[place.line - 1]) if 0 < place.line <= len(lines) else ""
    return f"{name} `{text}`" if text else name
