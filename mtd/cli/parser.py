"""argparse, for people: a word that it does not know gets the near one, one that is missing its meaning and an example.

mtd: there is no command 'chek'; did you mean check? (mtd help lists them)
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from mtd.cli.page import Page

LINE = re.compile(
    r"(?P<names>(?:\S+, )*[\w-]+(?:\|[\w-]+)*)(?: (?P<value>[^\s:=]\S*?))?(?P<many>[?*+!]|\.\.\.)?(?:: (?P<kind>\w+))?"
    r"(?: = (?P<default>\S*))? {2,}(?P<about>.+)"
)
MISSING = "the following arguments are required: "
NOT_A_VALUE = (argparse._SubParsersAction,)  # its choices have help of their own


def positive(text: str) -> int:
    """The type of an argument that is a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def numbers(text: str) -> list[int]:
    """`0-3,8` as a list."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r} should be like 0-3,8")
        found += range(int(first), int(last or first) + 1)
    return found


def words(text: str) -> list[str]:
    """`tcp,file` as a list."""
    return [word for word in text.split(",") if word]


KINDS = {each.__name__.lower(): each for each in (int, float, Path, positive, numbers, words)}
OF_OPTIONS: dict[str, dict[str, Any]] = {
    "...": {"action": "append", "default": []},
    "+": {"nargs": "+"},
    "!": {"required": True},
}


def _taken(line: re.Match[str]) -> dict[str, Any]:
    """A line of a usage, as argparse wants it."""
    how: dict[str, Any] = {"help": " ".join(line["about"].split())}
    value, many, is_option = line["value"], line["many"], line["names"].startswith("-")
    if value and value.startswith("{"):
        how["choices"] = value[1:-1].split(",")
    elif value and value.startswith("["):
        how |= {"metavar": value[1:-1], "nargs": "?", "const": ""}
    elif value:
        how["metavar"] = value
    elif is_option:
        how["action"] = "store_true"
    if many:
        how |= OF_OPTIONS[many] if is_option else {"nargs": many}
    if line["kind"]:
        how["type"] = KINDS[line["kind"]]
    if line["default"] is not None:
        how["default"] = line["default"].strip('"')
    return how


def near(word: str, known: Iterable[str]) -> str:
    """` (perhaps ring or rings?)`, or nothing."""
    words = [*known]
    lower = {one.lower(): one for one in words}
    found = [lower[one] for one in difflib.get_close_matches(word.lower(), lower, 3)]
    found = found or [one for one in words if word and one.startswith(word)][:3]
    return f" (perhaps {' or '.join(found)}?)" if found else ""


class Parser(argparse.ArgumentParser):
    """For `mtd` and each of its commands."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._rules: list[tuple[bool, str, tuple[str, ...]]] = []

    def takes(self, usage: str) -> None:
        """The words and options of a command, a line each, as its help shows them.

        file?                      a word that may be left out; file* and file+ are several, file... all that follow
        names PAPER*               the help calls it PAPER
        --json                     an option that is said, or not
        --ranks RANKS: int = 3     one with a value: of this type, and this one if nothing is said
        --net|--network NET...     it may be given again; `--network` is what it was called, which is still taken
        --size BYTES+              it has one value or several
        --gpus GPUS!               it has to be given
        --html [FILE]              its value may be left out, and is then empty
        --by {group,operation}     one of these
        --over {tcp,file}: words   some of these, with commas between them
        """
        for line in filter(None, map(str.strip, usage.split("\n"))):
            found = LINE.fullmatch(line)
            assert found is not None, f"no line of a usage: {line}"
            names, *former = found["names"].split("|")
            action = self.add_argument(*names.split(", "), **_taken(found))
            self._option_string_actions |= dict.fromkeys(former, action)

    def needs(self, option: str, *others: str) -> None:
        """The option says nothing without one of the others, so it is refused without them."""
        self._rules.append((True, option, others))

    def excludes(self, option: str, *others: str) -> None:
        """The option does not go with any of the others."""
        self._rules.append((False, option, others))

    def _keep_rules(self, found: argparse.Namespace) -> None:
        for is_need, option, others in self._rules:
            given = [other for other in others if self._is_given(other, found)]
            if not self._is_given(option, found) or is_need == bool(given):
                continue
            if is_need:
                self._refuse(f"{option} says nothing without {' or '.join(others)}")
            self._refuse(f"{option} and {given[0]} do not go together: say one of them")

    def _is_given(self, name: str, found: argparse.Namespace) -> bool:
        (action,) = (one for one in self._actions if name in (*one.option_strings, one.dest))
        value = getattr(found, action.dest)
        return bool(value != action.default) and value != []

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        """The options that a shortened one may mean, by their names of today."""
        found = super()._get_option_tuples(option_string)
        return [one for one in found if one[1] in one[0].option_strings]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = [str(one) for one in action.choices or ()]
        wrong = [one for one in (value if isinstance(value, list) else [value]) if one not in known]
        if action.choices is None or not wrong:
            return
        value = wrong[0]
        name = _named(action)
        if isinstance(action, NOT_A_VALUE):
            kind = name.lower()
            self._refuse(
                f"there is no {kind} {value!r}{near(str(value), known)}; {self.prog} --help lists what there is"
            )
        self._refuse(f"{name} is not {value!r}{near(str(value), known)}; it is one of {', '.join(known)}")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        found, rest = self.parse_known_args(args, namespace)
        asked = self._asked(found)
        if rest:
            asked._unknown(rest[0])
        asked._keep_rules(found)
        return found

    def error(self, message: str) -> NoReturn:
        if message.startswith(MISSING):
            self._explain(message.removeprefix(MISSING).split(", "))
        said = message.removeprefix("argument ").replace("expected one argument", "it takes a value")
        number = re.fullmatch(r"(.+): invalid (int|float) value: (.+)", said)
        if number:
            kind = {"int": "a whole number", "float": "a number"}[number[2]]
            said = f"{number[1]} is {kind}, not {number[3]}"
        self._refuse(f"{said} ({self.prog} --help says more)")

    # ------------------------------------------------------------------------- in words

    def _asked(self, found: argparse.Namespace) -> Parser:
        """The parser of the command that was given."""
        parser: Parser = self
        while (tasks := parser._tasks()) is not None and getattr(found, tasks.dest, None):
            parser = tasks.choices[getattr(found, tasks.dest)]
        return parser

    def _unknown(self, word: str) -> NoReturn:
        """An option that nobody has, or a word too many."""
        if word.startswith("-"):
            options = [name for action in self._actions for name in action.option_strings]
            name = word.partition("=")[0]
            self._refuse(f"there is no option {name}{near(name, options)}; {self.prog} --help lists what there is")
        self._refuse(f"{word!r} is one word too many; {self.prog} --help says what it takes")

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
