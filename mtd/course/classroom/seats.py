"""The seats of a class, and the laptop on each. A seat is given by the host; a laptop can only ask for one,
and say how it would like to be called.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mtd.course.classroom import names

HERE, AWAY, UNPLUGGED, LEFT = "here", "away", "unplugged", "left"
SILENT: Final = 6.0  # seconds without a word (a pulse comes each second) until a laptop is away
BLAMED: Final = 2.5  # the same for one that another laptop has lost


class Full(Exception):
    """Every seat is taken."""


@dataclass
class Seat:
    number: int
    me: str  # the laptop's address in the store: which connection it is
    name: str
    where: str = ""
    heard: float = 0.0
    state: str = HERE
    is_stuck: bool = False  # it pulses, and does not do what it is told to
    is_blamed: bool = False
    ready: int = 0  # the last generation for which it said so
    generations: list[int] = field(default_factory=list)
    digest: str = ""  # of its weights at the end
    steps: int = 0  # in which it took part

    @property
    def is_silent_after(self) -> float:
        return BLAMED if self.is_blamed else SILENT

    def __str__(self) -> str:
        return self.name


class Seats:
    """All seats, by number from 1."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken: dict[int, Seat] = {}
        self._of: dict[str, int] = {}  # me: number

    def of(self, me: str) -> Seat | None:
        number = self._of.get(me)
        return None if number is None else self.taken[number]

    def all(self) -> list[Seat]:
        return [self.taken[number] for number in sorted(self.taken)]

    def here(self) -> list[Seat]:
        return [seat for seat in self.all() if seat.state == HERE and not seat.is_stuck]

    def named(self, said: str) -> Seat | None:
        """By its name, however written, or by its number."""
        wanted = said.strip().casefold()
        for seat in self.all():
            if seat.name.casefold() == wanted or str(seat.number) == wanted:
                return seat
        return None

    def give(self, me: str, name: str, where: str, now: float) -> Seat:
        """A seat for a laptop: the one it had, if somebody of its name was here and is gone. Full if there is none."""
        wanted = names.clean(name) or names.NOBODY
        number = self._left_by(wanted) or self._free()
        old = self.taken.get(number)
        others = [seat.name for seat in self.all() if seat.number != number]
        seat = Seat(number, me, names.unlike(wanted, others), names.clean(where, 40), now)
        if old is not None:
            self._of.pop(old.me, None)
            if old.name == seat.name:
                seat.generations, seat.steps = old.generations, old.steps
        self.taken[number] = seat
        self._of[me] = number
        return seat

    def _left_by(self, name: str) -> int:
        gone = (seat for seat in self.all() if seat.state in (AWAY, LEFT))
        same = (seat.number for seat in gone if seat.name.casefold() == name.casefold())
        return next(same, 0)

    def _free(self) -> int:
        for number in range(1, self.count + 1):
            if number not in self.taken:
                return number
        gone = [s for s in self.all() if s.state == LEFT] or [s for s in self.all() if s.state == AWAY]
        if not gone:
            raise Full(", ".join(seat.name for seat in self.all()))
        return min(gone, key=lambda seat: seat.heard).number

    def __repr__(self) -> str:
        return f"<Seats {len(self.taken)} of {self.count} taken, {len(self.here())} here>"
