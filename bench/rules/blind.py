"""Have findings judged by a reader who does not know what was reported.

    python bench/rules/blind.py draw FINDINGS FOLDER OUT [--count 150] [--seed N]
    python bench/rules/blind.py score OUT LABELS

``draw`` takes findings (the table that bench/rules/peers.py writes) of the repositories in FOLDER, evenly
over repositories and codes, and as many look-alikes: lines of the same repositories that a naive pattern of
the same family would report and that have no finding. OUT/sheet.tsv has both in random order, each with the
question of its family and nothing else; OUT/key.tsv says which is which. The reader fills a table of id,
verdict (TRUE, MINOR, FALSE) and reason; ``score`` puts the two together.
"""

from __future__ import annotations

import argparse
import collections
import csv
import itertools
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

VERDICTS = ("TRUE", "MINOR", "FALSE")
TEST_FOLDERS = {"tests", "test", "docs", "doc"}


class Family(NamedTuple):
    question: str
    look_alike: re.Pattern[str]


FAMILIES = {
    "WL1": Family(
        "Is a tensor made or kept on the CPU here, in code that runs each step, and then needed on the GPU?",
        re.compile(r"torch\.(arange|zeros|ones|full|tensor|eye|linspace|rand\w*)\("),
    ),
    "WL2": Family(
        "Does this line make the host wait for the GPU, avoidably, in code that runs each step or forward?",
        re.compile(r"\.(item|cpu|tolist|numpy|nonzero|unique)\(|\bfloat\(|torch\.where\(|\[\w*mask\w*\]"),
    ),
    "WL3": Family(
        "Does the way in which data are loaded or moved here keep the GPU waiting?",
        re.compile(r"DataLoader\(|\.to\(\w*device\)|\.cuda\(\)|iter\("),
    ),
    "WL4": Family(
        "Does the numeric precision chosen, or left unchosen, here cost GPU time or fail?",
        re.compile(r"autocast|GradScaler|float64|\.double\(\)|nn\.Linear\(|nn\.Embedding\("),
    ),
    "WL5": Family(
        "Does this optimizer, layer, setting, log or compile call cost time each step that could be saved?",
        re.compile(r"Adam\w*\(|SGD\(|Conv\dd\(|torch\.compile|backends\.|environ\[|log\w*\(|\.save\("),
    ),
    "WL6": Family(
        "Does this keep memory or an autograd graph, or do work on memory, that the program need not?",
        re.compile(r"empty_cache|gc\.collect|\.eval\(\)|\+= *\w*loss|torch\.cat\(|\.backward\(|zero_grad"),
    ),
    "WL7": Family(
        "Does this way of using several GPUs cost time that the program need not spend?",
        re.compile(r"DataParallel\(|all_reduce\(|barrier\(|find_unused|init_process_group|all_gather"),
    ),
    "WL8": Family(
        "Could one call on the GPU do what this does in several or in a Python loop, at clearly less cost?",
        re.compile(r"softmax\(|for \w+ in range\(|MultiheadAttention|triu\(|LSTMCell"),
    ),
    "WL9": Family(
        "Does this argument or call of a training framework keep the GPU waiting?",
        re.compile(r"Trainer\(|TrainingArguments\(|self\.log\(|Accelerator\("),
    ),
}


class Site(NamedTuple):
    path: str
    line: int
    family: str
    code: str

    def repository(self, folder: Path) -> str:
        return Path(self.path).resolve().relative_to(folder.resolve()).parts[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawing = verbs.add_parser("draw")
    drawing.add_argument("findings", type=Path)
    drawing.add_argument("folder", type=Path)
    drawing.add_argument("out", type=Path)
    drawing.add_argument("--count", type=int, default=150)
    drawing.add_argument("--seed", type=int, default=1)
    scoring = verbs.add_parser("score")
    scoring.add_argument("out", type=Path)
    scoring.add_argument("labels", type=Path)
    args = parser.parse_args()
    if args.verb == "draw":
        draw(args.findings, args.folder, args.out, args.count, random.Random(args.seed))
    else:
        score(args.out, args.labels)


def draw(findings: Path, folder: Path, out: Path, count: int, chance: random.Random) -> None:
    reported = [
        Site(row["path"], int(row["line"]), row["code"][:3], row["code"])
        for row in rows_of(findings)
        if row["code"][:3] in FAMILIES and not is_test(Path(row["path"]))
    ]
    chosen = evenly(reported, folder, count, chance)
    taken = {(Path(site.path).resolve(), site.line) for site in reported}
    alike = list(look_alikes(folder, {site.repository(folder) for site in chosen}, taken))
    wanted = collections.Counter(site.family for site in chosen)
    others = [
        site
        for family, number in wanted.items()
        for site in evenly([site for site in alike if site.family == family], folder, number, chance)
    ]
    sites = chosen + others
    chance.shuffle(sites)
    out.mkdir(parents=True, exist_ok=True)
    sheet = [
        (str(number), site.path, str(site.line), FAMILIES[site.family].question)
        for number, site in enumerate(sites, 1)
    ]
    key = [
        (str(number), site.repository(folder), site.family, site.code) for number, site in enumerate(sites, 1)
    ]
    write(out / "sheet.tsv", ("id", "path", "line", "question"), sheet)
    write(out / "key.tsv", ("id", "repository", "family", "code"), key)
    print(f"{len(chosen)} findings of {len({site.repository(folder) for site in chosen})} repositories,")
    print(f"{len(others)} look-alikes")


def evenly(sites: list[Site], folder: Path, count: int, chance: random.Random) -> list[Site]:
    """As many as wanted, taken in turn from each repository and, within one, from each code."""
    piles: dict[tuple[str, str], list[Site]] = collections.defaultdict(list)
    for site in sites:
        piles[site.repository(folder), site.code].append(site)
    for pile in piles.values():
        chance.shuffle(pile)
    by_repository: dict[str, list[list[Site]]] = collections.defaultdict(list)
    for (repository, _), pile in piles.items():
        by_repository[repository].append(pile)
    for ranked in by_repository.values():
        chance.shuffle(ranked)
    turns = [alternate(ranked) for ranked in by_repository.values()]
    return list(itertools.islice(alternate(turns), count))


def alternate(piles: Iterable[Iterable[Site]]) -> Iterator[Site]:
    for layer in itertools.zip_longest(*piles):
        yield from (site for site in layer if site is not None)


def look_alikes(folder: Path, repositories: set[str], taken: set[tuple[Path, int]]) -> Iterator[Site]:
    for repository in sorted(repositories):
        for path in sorted((folder / repository).rglob("*.py")):
            if is_test(path) or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            if "torch" not in text:
                continue
            for number, line in enumerate(text.splitlines(), 1):
                if line.lstrip().startswith(("#", "import", "from")) or (path.resolve(), number) in taken:
                    continue
                for name, family in FAMILIES.items():
                    if family.look_alike.search(line):
                        yield Site(str(path), number, name, "-")


def is_test(path: Path) -> bool:
    return bool(TEST_FOLDERS.intersection(path.parts)) or path.name.startswith("test_")


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(file: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    file.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))


def score(out: Path, labels: Path) -> None:
    verdicts = {row["id"]: row["verdict"] for row in rows_of(labels)}
    counted: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in rows_of(out / "key.tsv"):
        kind = "look-alikes" if row["code"] == "-" else "reported"
        for group in (kind, f"{kind} {row['family']}", *([row["code"]] if kind == "reported" else [])):
            counted[group][verdicts[row["id"]]] += 1
    print(f"{'':20s}" + "".join(f"{verdict:>7s}" for verdict in VERDICTS) + "   TRUE + MINOR")
    for group, counts in sorted(counted.items()):
        share = (counts["TRUE"] + counts["MINOR"]) / counts.total()
        print(f"{group:20s}" + "".join(f"{counts[verdict]:7d}" for verdict in VERDICTS) + f"   {share:.2f}")


if __name__ == "__main__":
    main()
