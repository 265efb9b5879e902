"""Completion scripts of shells, from a description of the commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from warplint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An option's names and help; ``values`` are what may follow it, nothing where files may."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command; ``words`` are what may stand as its argument, nothing where files may."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def bash(commands: Sequence[Command]) -> Iterator[str]:
    names = " ".join(command.name for command in commands)
    yield "_warplint() {\n"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    yield "    if ((COMP_CWORD == 1)); then\n"
    yield f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))\n'
    yield "        return\n    fi\n"
    yield '    case "${COMP_WORDS[1]} $before" in\n'
    for command in commands:
        for option in command.options:
            if option.takes_value:
                patterns = " | ".join(f'"{command.name} {name}"' for name in option.names)
                yield f"        {patterns}) {_bash_reply(option.values)} return ;;\n"
    yield "    esac\n"
    yield '    case "${COMP_WORDS[1]} $word" in\n'
    for command in commands:
        listed = tuple(name for option in command.options for name in option.names)
        yield f'        "{command.name} -"*) {_bash_reply(listed)} ;;\n'
        yield f'        "{command.name} "*) {_bash_reply(command.words)} ;;\n'
    yield "    esac\n}\n"
    yield "complete -o filenames -F _warplint warplint\n"


def _bash_reply(words: Sequence[str]) -> str:
    source = f'-W "{" ".join(words)}"' if words else "-f"
    return f'COMPREPLY=($(compgen {source} -- "$word"));'


def zsh(commands: Sequence[Command]) -> Iterator[str]:
    yield "#compdef warplint\n"
    yield "_warplint() {\n"
    yield "    local -a commands=(\n"
    for command in commands:
        yield f"        {_quoted(f'{command.name}:{_sentence(command.help)}')}\n"
    yield "    )\n"
    yield "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n"
    yield "    local command=$words[2]\n"
    yield "    shift words\n    ((CURRENT--))\n"
    yield '    case "$command" in\n'
    for command in commands:
        yield f"        {command.name}) _arguments \\\n"
        for option in command.options:
            for name in option.names:
                value = f":value:{_zsh_values(option.values)}" if option.takes_value else ""
                described = f"*{name}[{_zsh_help(option.help)}]{value}"
                yield f"            {_quoted(described)} \\\n"
        yield f"            {_quoted(f'*:argument:{_zsh_values(command.words)}')} ;;\n"
    yield "    esac\n}\n"
    yield "compdef _warplint warplint\n"


def _zsh_values(values: Sequence[str]) -> str:
    return f"({' '.join(values)})" if values else "_files"


def _zsh_help(text: str) -> str:
    return re.sub(r"[][:]", r"\\\g<0>", _sentence(text))


def fish(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        described = _quoted(_sentence(command.help))
        yield f"complete -c warplint -n __fish_use_subcommand -f -a {command.name} -d {described}\n"
    for command in commands:
        condition = _quoted(f"__fish_seen_subcommand_from {command.name}")
        if command.words:
            yield f"complete -c warplint -n {condition} -f -a {_quoted(' '.join(command.words))}\n"
        for option in command.options:
            names = " ".join(f"-{'s' if len(name) == 2 else 'l'} {name.lstrip('-')}" for name in option.names)
            line = f"complete -c warplint -n {condition} {names} -d {_quoted(_sentence(option.help))}"
            if option.values:
                line += f" -x -a {_quoted(' '.join(option.values))}"
            elif option.takes_value:
                line += " -r"
            yield f"{line}\n"


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    """A word in single quotes, as all three shells read it."""
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS: dict[str, Callable[[Sequence[Command]], Iterator[str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
