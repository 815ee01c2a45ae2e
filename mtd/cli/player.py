"""Step through a scene in the terminal, forward and backward.

    →  n  enter   the next event         ←  p   the one before   N P   ten at once
    g  G          the first, the last    r      the next of this rank
    +  -          closer, farther        f      what if this message had come first?
    h  ?          these lines            q      leave

A frame is text of at most 80 columns; a terminal that knows no more than lines is given line after
line, and then a key is a line too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from textwrap import wrap
from typing import Any, Final

from rich.console import Console

from minitorch_dist.pictures import spacetime, words
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.pictures.terminal import painted, sayable
from mtd.cli import keyboard

NAMES: Final = {  # what keys and lines are short for
    "right": "n", "left": "p", "home": "g", "end": "G", "enter": "n", "page down": "n", "": "n", "l": "n", "b": "p",
    "=": "+", "?": "h", "escape": "q",
}  # fmt: skip
CLOSEST: Final = 4  # events in sight, about

Fork = Callable[[int], Any]
"""Given an event's number: a Scene of the run in which it came first, or words."""
NO_PROGRAM = (
    "no program is at hand that could run again with this message first: use mtd.cli.forking "
    "for a simulated one, or mtd show with a journal of mtd run"
)


class Player:
    """Where one is in a scene, and what is in sight."""

    def __init__(self, scene: Scene, fork: Fork | None = None) -> None:
        self.scene, self.step, self.zoom = scene, 0, 1.0
        self.said = ""
        self._fork = fork
        self._before: list[tuple[Scene, int]] = []  # the scenes that were forked

    def press(self, key: str) -> bool:
        """Do what a key says; False when it says to leave."""
        key = NAMES.get(key, key)
        last = max(len(self.scene.moments) - 1, 0)
        self.said = ""
        moves = {"n": 1, "p": -1, "N": 10, "P": -10, "g": -last, "G": last}
        if key == "q":
            return False
        if key in moves:
            self.step = min(max(self.step + moves[key], 0), last)
        elif key == "r":
            self.step = self._next_of_rank()
        elif key == "+":
            self.zoom = min(self.zoom * 2, max(len(self.scene.moments) / CLOSEST, 1.0))
        elif key == "-":
            self.zoom = max(self.zoom / 2, 1.0)
        elif key == "f":
            self._what_if()
        elif key == "u" and self._before:
            self.scene, self.step = self._before.pop()
        else:
            self.said = "\n".join(line.strip() for line in (__doc__ or "").splitlines()[2:6])
        return True

    def _next_of_rank(self) -> int:
        moments = self.scene.moments
        for number in range(self.step + 1, len(moments)):
            if moments[number].lane == moments[self.step].lane:
                return number
        return self.step

    def _what_if(self) -> None:
        if self._fork is None or not self.scene.moments:
            self.said = NO_PROGRAM if self._fork is None else "nothing happened"
            return
        found = self._fork(self.scene.moments[self.step].number)
        if isinstance(found, Scene):
            self._before.append((self.scene, self.step))
            self.scene, self.step = found, min(self.step, max(len(found.moments) - 1, 0))
            self.said = "this is the run in which it came first; u goes back"
        else:
            self.said = str(found)

    # -------------------------------------------------------------------------------------- frames

    def window(self) -> tuple[int, int]:
        """The span of time in sight: around the present event, or all of it."""
        start, end = self.scene.start, self.scene.end
        if self.zoom == 1.0 or not self.scene.moments:
            return start, end
        half = max(int((end - start) / self.zoom / 2), 1)
        middle = min(max(self.scene.moments[self.step].at, start + half), max(end - half, start))
        return max(middle - half, start), min(middle + half, end)

    def frame(self, width: int = 80, ranks: int = 16) -> spacetime.Picture:
        """The picture up to now: the past, and what is happening."""
        moments = self.scene.moments
        if not moments:
            return spacetime.Picture([self.scene.title, "", "nothing happened"], [])
        here = moments[self.step]
        past = happened(self.scene, self.step)
        picture = spacetime.draw(past, width, ranks, window=self.window(), now=here.at)
        held = self.scene.held(here.lane, here.at)
        where = f"{self.step + 1} of {len(moments)}, {words.span(here.at - self.scene.start)}"
        if held:
            where += f"; {self.scene.lanes[here.lane]} holds {words.amount(held)}"
        lines = [*picture.lines, "", where]
        lines += [part for line in (here.text, *self.said.splitlines()) for part in wrap(line, width) or [""]]
        return spacetime.Picture(lines, picture.paint)

    def __repr__(self) -> str:
        return f"<Player at {self.step + 1} of {len(self.scene.moments)} events>"


def happened(scene: Scene, step: int) -> Scene:
    """The scene as it was when this moment had just happened; the axis stays."""
    places = {moment.number: place for place, moment in enumerate(scene.moments)}
    at = scene.moments[step].at

    def is_past(number: int, begins: int) -> bool:
        return places[number] <= step if number in places else begins <= at

    return replace(
        scene,
        spans=[s for s in scene.spans if is_past(s.number, s.start)],
        arrows=[a for a in scene.arrows if is_past(a.number, a.departed)],
    )


# ------------------------------------------------------------------------------------ in a terminal


def play(
    scene: Scene,
    fork: Fork | None = None,
    console: Console | None = None,
    keys: Iterator[str] | None = None,
    ranks: int = 16,
) -> Player:
    """Let a person step through a scene; the player as it was left."""
    console = console or Console(highlight=False)
    player = Player(scene, fork)
    for key in read_keys() if keys is None else chain([None], keys):
        if key is not None and not player.press(key):
            break
        if console.is_terminal and not console.is_dumb_terminal:
            console.clear()
        picture = player.frame(console.width, ranks)
        console.print(painted(picture, player.scene, console))
        console.print(sayable("n next  p back  r rank  +/- zoom  f fork  h help  q quit", console))
        console.file.flush()
    return player


def read_keys() -> Iterator[str | None]:
    """The commands of the person: keys where there is a terminal, else the lines of the input. At
    first None, when the terminal is ready: what is pressed from then on is not lost."""
    if not keyboard.gives_keys() or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        for line in sys.stdin:
            yield keyboard.NAMES.get(line.strip(), line.strip())
        return
    with keyboard.Keyboard() as keys, suppress(keyboard.Closed):
        yield None
        while True:
            yield from filter(None, [keys.read(60)])
