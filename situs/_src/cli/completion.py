"""``situs completion SHELL``: prints what makes a shell complete the commands and options of ``situs``.

    source <(situs completion bash)                                       for this shell; in ~/.bashrc for all
    source <(situs completion zsh)                                        the same in ~/.zshrc
    situs completion fish > ~/.config/fish/completions/situs.fish

It is written from the parsers of the commands themselves, so a new option is completed without anybody thinking of it.
What is no option is completed as the name of a file.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

SHELLS = ("bash", "zsh", "fish")


class Option(NamedTuple):
    """An option of a command.

    Attributes:
        names: How it is written: ``-o``, ``--output``.
        about: What it is for.
        takes: Whether a value follows.
        choices: The values that it may have; none if any.
    """

    names: tuple[str, ...]
    about: str
    takes: bool
    choices: tuple[str, ...]


class Command(NamedTuple):
    """A command: its name, what it is for, its options, and the words that may stand after it if they are known."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add_command(commands: Any, whole: Callable[[], argparse.ArgumentParser]) -> None:
    """Adds ``completion`` to the command line.

    Args:
        commands: Where commands are added.
        whole: Gives the parser of all of them.
    """
    parser = commands.add_parser("completion", help="print what makes a shell complete commands and options")
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")
    parser.set_defaults(run=lambda arguments: print(script(whole(), arguments.shell), end=""))


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script of a shell for a parser with commands."""
    found = list(described(parser))
    lines = _fish(parser.prog, found) if shell == "fish" else _bash(parser.prog, found)
    head = [f"# Completion of {parser.prog} for {shell}: written by {parser.prog} completion {shell}."]
    if shell == "zsh":
        head.append("autoload -U +X bashcompinit && bashcompinit")
    return "\n".join([*head, *lines, ""])


def described(parser: argparse.ArgumentParser) -> Iterator[Command]:
    """The commands of a parser; the first, without a name, is the parser itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {each.dest: each.help or "" for each in action._choices_actions}
            yield Command("", "", tuple(_options(parser)), tuple(action.choices))
            for name, inner in action.choices.items():
                words = [word for each in inner._actions if not each.option_strings for word in each.choices or ()]
                yield Command(name, about.get(name, ""), tuple(_options(inner)), tuple(map(str, words)))


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings and action.help is not argparse.SUPPRESS:
            choices = tuple(map(str, action.choices or ()))
            yield Option(tuple(action.option_strings), action.help or "", action.nargs != 0, choices)


def _bash(program: str, commands: list[Command]) -> Iterator[str]:
    """A function for ``complete -F``: the words of the command that was given, else names of files."""
    yield f"_{program}() {{"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command=""'
    yield "    local word"
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    names = "|".join(command.name for command in commands if command.name)
    yield f'        case "$word" in {names}) command="$word"; break;; esac'
    yield "    done"
    yield "    COMPREPLY=()"
    yield '    case "$command:$before" in'
    for command in commands:
        for option in command.options:
            patterns = "|".join(f"{command.name}:{name}" for name in option.names)
            if option.choices:
                yield f"        {patterns}) {_words(option.choices)}; return;;"
            elif option.takes:
                yield f'        {patterns}) COMPREPLY=($(compgen -f -- "$current")); return;;'
    yield "    esac"
    yield '    case "$command" in'
    for command in commands:
        options = tuple(name for option in command.options for name in option.names)
        yield f'        "{command.name}")'
        yield f'            if [[ "$current" == -* ]]; then {_words(options)}'
        files = 'COMPREPLY=($(compgen -f -- "$current"))'
        yield f"            else {_words(command.words) if command.words else files}; fi;;"
    yield "    esac"
    yield "}"
    yield f"complete -o filenames -F _{program} {program}"


def _words(words: tuple[str, ...]) -> str:
    return f'COMPREPLY=($(compgen -W {shlex.quote(" ".join(words))} -- "$current"))'


def _fish(program: str, commands: list[Command]) -> Iterator[str]:
    """A line for each command and each option."""
    for command in commands:
        when = f"__fish_seen_subcommand_from {command.name}" if command.name else "__fish_use_subcommand"
        start = f"complete -c {program} -n {shlex.quote(when)}"
        if not command.name:
            about = {each.name: each.about for each in commands}
            yield from (f"{start} -f -a {word} -d {shlex.quote(about[word])}" for word in command.words)
        elif command.words:
            yield f"{start} -f -a {shlex.quote(' '.join(command.words))}"
        for option in command.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            values = (
                f" -x -a {shlex.quote(' '.join(option.choices))}" if option.choices else " -r" if option.takes else ""
            )
            yield f"{start} {names}{values} -d {shlex.quote(option.about)}"
