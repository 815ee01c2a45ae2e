"""The teacher's words: a line in, what it did in words out. Knows no terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mtd.course.classroom import names, racing
from mtd.course.classroom.racing import NoRace
from mtd.course.classroom.room import Cannot, Room

HELP: Final = Path(__file__).with_suffix(".txt").read_text("utf-8").rstrip("\n")


class Finish(Exception):
    """The teacher wants to end the class."""


class Console:
    def __init__(self, room: Room, race: str = "ring,tree") -> None:
        self.room, self.race = room, race
        self._words: dict[str, Callable[[list[str]], object]] = {
            "start": lambda rest: room.start(),
            "race": self._race,
            "unplug": lambda rest: room.unplug(_named("unplug", rest)),
            "plug": lambda rest: room.plug(_named("plug", rest)),
            "stop": lambda rest: room.stop(),
            "who": lambda rest: self._who(),
            "help": lambda rest: HELP,
            "finish": self._finish,
            "quit": self._finish,
        }

    def do(self, line: str) -> str:
        """Carry it out. Returns the answer, which may be empty; Finish ends the class."""
        word, *rest = line.split() or ["help"]
        found = [name for name in self._words if name.startswith(word.lower())]
        if word.lower() in self._words:
            found = [word.lower()]
        if len(found) != 1:
            meant = f"is it {' or '.join(found)}?"
            what = meant if found else "there is no such word; help lists them"
            return f"{names.clean(word)}: {what}"
        try:
            answer = self._words[found[0]](rest)
            return answer if isinstance(answer, str) else ""
        except (Cannot, NoRace) as error:
            return str(error)

    def _race(self, rest: list[str]) -> None:
        floats = racing.FLOATS
        if rest and rest[-1].isdecimal():
            floats = int(rest.pop())
        self.room.race(racing.contest(",".join(rest) or self.race, floats))

    def _who(self) -> str:
        said = [
            f"{seat.number:>3}  {seat.name:<17} {seat.state:<10} {seat.where}".rstrip()
            for seat in self.room.seats.all()
        ]
        return "\n".join(said) or "nobody is here yet"

    def _finish(self, rest: list[str]) -> str:
        raise Finish


def _named(word: str, rest: list[str]) -> str:
    if not rest:
        raise Cannot(f"{word} whom? By name or number: {word} Ada, or {word} 3")
    return " ".join(rest)
