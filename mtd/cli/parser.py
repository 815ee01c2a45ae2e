"""argparse, for people: a word that it does not know gets the near one, one that is missing its meaning and an example.

mtd: there is no command 'chek'; did you mean check? (mtd help lists them)
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from rich.console import Console

from mtd.cli.page import Page

MISSING = "the following arguments are required: "
NOT_A_VALUE = (argparse._SubParsersAction,)  # its choices have help of their own


def positive(text: str) -> int:
    """The type of an argument that is a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def near(word: str, known: Iterable[str]) -> str:
    """` (perhaps ring or rings?)`, or nothing."""
    words = [*known]
    lower = {one.lower(): one for one in words}
    found = [lower[one] for one in difflib.get_close_matches(word.lower(), lower, 3)]
    found = found or [one for one in words if word and one.startswith(word)][:3]
    return f" (perhaps {' or '.join(found)}?)" if found else ""


class Parser(argparse.ArgumentParser):
    """For `mtd` and each of its commands."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(one) for one in action.choices]
        name = _named(action)
        if isinstance(action, NOT_A_VALUE):
            kind = name.lower()
            self._refuse(
                f"there is no {kind} {value!r}{near(str(value), known)}; {self.prog} --help lists what there is"
            )
        self._refuse(
            f"{name} is not {value!r}{near(str(value), known)}; it is one of {', '.join(known)}"
        )

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self._unknown(rest[0], found)
        return found

    def error(self, message: str) -> NoReturn:
        if message.startswith(MISSING):
            self._explain(message.removeprefix(MISSING).split(", "))
        said = message.removeprefix("argument ").replace(
            "expected one argument", "it takes a value"
        )
        number = re.fullmatch(r"(.+): invalid (int|float) value: (.+)", said)
        if number:
            kind = {"int": "a whole number", "float": "a number"}[number[2]]
            said = f"{number[1]} is {kind}, not {number[3]}"
        self._refuse(f"{said} ({self.prog} --help says more)")

    # ------------------------------------------------------------------------- in words

    def _unknown(self, word: str, found: argparse.Namespace) -> NoReturn:
        """An option that nobody has, or a word too many; of the command that was given."""
        parser: Parser = self
        while (tasks := parser._tasks()) is not None and getattr(found, tasks.dest, None):
            parser = tasks.choices[getattr(found, tasks.dest)]
        if word.startswith("-"):
            options = [name for action in parser._actions for name in action.option_strings]
            name = word.partition("=")[0]
            parser._refuse(
                f"there is no option {name}{near(name, options)}; {parser.prog} --help lists what there is"
            )
        parser._refuse(f"{word!r} is one word too many; {parser.prog} --help says what it takes")

    def _tasks(self) -> Any:
        return next((one for one in self._actions if isinstance(one, NOT_A_VALUE)), None)

    def _explain(self, names: list[str]) -> NoReturn:
        """Say what this command is, what is missing, what can be chosen, and give an example."""
        page = self._page()
        page.say(f"{self.prog}: {self.description or 'something is missing'}")
        for action in self._actions:
            if _named(action) not in names or action.nargs == argparse.REMAINDER:
                continue
            page.say()
            page.say(f"{_named(action)} is missing{f': {action.help}' if action.help else ''}")
            for choice, said in _choices(action):
                page.say(f"{choice:<10} {said}".rstrip(), indent=2)
        page.say()
        if self.epilog:
            page.say(self.epilog)
        page.say(f"{self.prog} --help says more.")
        sys.exit(2)

    def _refuse(self, said: str) -> NoReturn:
        self._page().say(f"{self.prog}: {said}")
        sys.exit(2)

    @staticmethod
    def _page() -> Page:
        return Page(Console(file=sys.stderr, highlight=False))


def _named(action: argparse.Action) -> str:
    """As the usage calls it."""
    if action.option_strings:
        return "/".join(action.option_strings)
    return str(action.metavar or action.dest)


def _choices(action: argparse.Action) -> list[tuple[str, str]]:
    """The values that can be given there, each with its meaning."""
    if isinstance(action, NOT_A_VALUE):
        return [(one.dest, one.help or "") for one in action._choices_actions]
    return [(str(one), "") for one in action.choices or ()]
