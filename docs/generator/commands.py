"""Two pages of the reference: each command with its options, from its parser, and the environment variables of `variables.toml`."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator

from chapters import Chapter
from links import ROOT

from minitorch_dist.distributed.run import get_args_parser
from mtd.cli import GROUPS, parser_of

VARIABLES = tomllib.loads((ROOT / "docs" / "generator" / "variables.toml").read_text("utf-8"))["group"]
COMMANDS = """# Commands

`mtd` without a command opens the course where you left it. `mtd help NAME` shows the same as this page. `mtdrun` starts a script on
the ranks of this host, and takes torchrun's options.

"""
ENVIRONMENT = """# Environment variables

An asterisk stands for a part of the name. Variables that a launcher sets are named as in PyTorch, so that its scripts find them.

"""


def pages() -> Iterator[Chapter]:
    text = "".join(f"## {title}\n\n" + "".join(map(command, names)) for title, names in GROUPS.items())
    text += section("mtdrun", get_args_parser("mtdrun"), "##")
    yield Chapter("reference/commands.md", COMMANDS + text, "docs/reference/commands.md", "Commands")
    text = "".join(f"## {one['title']}\n\n{variables(one['variable'])}" for one in VARIABLES)
    yield Chapter(
        "reference/environment.md", ENVIRONMENT + text, "docs/reference/environment.md", "Environment variables"
    )


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its parser, also those below another one, such as `mtd dev build`."""
    for names in GROUPS.values():
        for name in names:
            yield from below(f"mtd {name}", subcommands(parser_of(name))[name])


def below(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for word, inner in subcommands(parser).items():
        yield from below(f"{name} {word}", inner)


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    return {name: inner for one in found for name, inner in one.choices.items()}


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The words and options of a command that its help shows."""
    return [
        one
        for one in parser._actions
        if not isinstance(one, argparse._SubParsersAction | argparse._HelpAction) and one.help != argparse.SUPPRESS
    ]


def command(name: str) -> str:
    return "".join(section(*each) for each in below(f"mtd {name}", subcommands(parser_of(name))[name]))


def section(name: str, parser: argparse.ArgumentParser, level: str = "###") -> str:
    rows = "".join(f"| {spelt(one)} | {helped(one)} |\n" for one in actions(parser))
    before, _, shown = (parser.epilog or "").partition("For example: ")
    example = (
        f"For example: {', '.join(f'`{one}`' for one in shown.split('; '))}\n\n" if shown else escaped(before) + "\n\n"
    )
    about = escaped(parser.description or "")
    return (
        f"{level} {name}\n\n{about[:1].upper()}{about[1:]}\n\n"
        + (f"| word or option | |\n|---|---|\n{rows}\n" if rows else "")
        + example
    )


def spelt(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    names = [one for one in action.option_strings if "_" not in one]
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    if action.choices is not None and action.metavar is None:
        value = f" {{{','.join(map(str, action.choices))}}}"
    return ", ".join(f"`{one}{value}`" for one in names).replace("|", "\\|")


def helped(action: argparse.Action) -> str:
    return escaped((action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%"))


def escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").split())


def variables(some: list[dict[str, str]]) -> str:
    rows = (f"| `{one['name']}` | {one['about']} {example_of(one['value'])} |\n" for one in some)
    return "| variable | |\n|---|---|\n" + "".join(rows) + "\n"


def example_of(value: str) -> str:
    return f"({value[:1].upper()}{value[1:]}.)" if value.startswith("set by") else f"For example `{value}`."
