"""From the command line to the files to check, each with its settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from warplint.project.config import Config, ConfigError, config_of, read_settings
from warplint.project.files import Configs, Target, Unreadable, find_files, left_out
from warplint.project.gitignore import Gitignores
from warplint.project.torch_target import TorchTargets
from warplint.source.records import replace

STDIN = Path("-")


def configs(args: argparse.Namespace) -> Configs:
    """The settings of each folder, the command line's choices on top. Raises ConfigError."""
    # As ruff tells them apart: what names a file is one, also when there is a = in its name.
    files = [text for text in args.config if "=" not in text or Path(text).exists()]
    fields = read_settings(text for text in args.config if text not in files)
    if len(files) > 1:
        raise ConfigError(f"--config: one file takes the projects' own place, not {', '.join(files)}")
    if files and args.isolated:
        raise ConfigError(f"--isolated reads no configuration file, --config names {files[0]}")
    everywhere = None
    if files:
        everywhere = config_of(Path(files[0]), Path.cwd())
    elif args.isolated:
        everywhere = Config(Path.cwd())
    return Configs(
        lambda config: _with_choices(replace(config, **fields), args),
        everywhere,
        TorchTargets(isolated=args.isolated),
    )


def items_of(args: argparse.Namespace, configs: Configs) -> Iterator[Target | Unreadable]:
    """What is to be checked. Raises ConfigError."""
    if STDIN not in args.paths:
        yield from find_files(args.paths or [Path()], configs, args.force_exclude)
        return
    path = Path(args.stdin_filename or STDIN)
    config = configs.of(path.absolute().parent)
    if not args.force_exclude or not left_out(path.absolute(), False, config, Gitignores()):
        yield Target(path if path == STDIN else path.absolute(), config, sys.stdin.buffer.read())


def _with_choices(config: Config, args: argparse.Namespace) -> Config:
    """The command line over the file, as ruff has it: ``--select`` starts anew, the others add."""
    select, extend_select, ignore, extend_ignore = (
        _codes(config, name, getattr(args, name))
        for name in ("select", "extend_select", "ignore", "extend_ignore")
    )
    if args.select is not None:
        config = replace(config, select=select, extend_select=(), ignore=(), extend_ignore=())
    return replace(
        config,
        extend_select=(*config.extend_select, *extend_select),
        ignore=(*config.ignore, *ignore, *extend_ignore),
        preview=config.preview or args.preview,
        respect_gitignore=config.respect_gitignore if args.gitignore is None else args.gitignore,
    )


def _codes(config: Config, name: str, words: tuple[str, ...] | None) -> tuple[str, ...]:
    """What an option names, as codes and prefixes. Raises ConfigError for what no rule has."""
    if not words:
        return ()
    # Imported here because it takes all rules, and most runs name none.
    from warplint.project.catalogue import catalogue_of

    try:
        return catalogue_of(config).codes_of(words)
    except ValueError as error:
        raise ConfigError(f"--{name.replace('_', '-')}: {error}") from None
