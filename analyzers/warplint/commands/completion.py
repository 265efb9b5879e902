"""``warplint completion``: what a shell needs to complete Warplint's commands and options."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator

from warplint import commands
from warplint.project.catalogue import catalogue
from warplint.report.completion import SHELLS, Command, Option

RULES = "RULES"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes Warplint in a shell",
        description="Print a script that completes Warplint's commands and options.",
        epilog='bash: eval "$(warplint completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc, after '
        "compinit; fish: warplint completion fish > ~/.config/fish/completions/warplint.fish",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=sorted(SHELLS))


def run(args: argparse.Namespace) -> int:
    sys.stdout.writelines(SHELLS[args.shell](list(_commands())))
    return 0


def _commands() -> Iterator[Command]:
    """Every command with its options, as its own parser has them."""
    subparsers = argparse.ArgumentParser("warplint").add_subparsers()
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"{commands.__name__}.{module.name}").add_parser(subparsers)
    helps = {action.dest: action.help or "" for action in subparsers._choices_actions}
    for name, parser in sorted(subparsers.choices.items()):
        options = []
        words: tuple[str, ...] = ()
        for action in parser._actions:
            values = _values(action)
            if action.option_strings:
                # Those of BooleanOptionalAction take no value, and do not say so.
                switch = action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction)
                names = tuple(action.option_strings)
                options.append(Option(names, action.help or "", not switch, values))
            else:
                words = words or values
        if name == "rule":
            words = _rules()
        yield Command(name, helps[name], tuple(options), words)


def _values(action: argparse.Action) -> tuple[str, ...]:
    """What may stand for an argument; nothing where that is a file or anything else."""
    if action.metavar == RULES:
        return _rules()
    return tuple(map(str, action.choices or ()))


def _rules() -> tuple[str, ...]:
    return tuple(sorted(catalogue().codes))
