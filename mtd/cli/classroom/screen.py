"""The console of a class in a terminal: the whole screen, or only lines.

Whole     the room, drawn anew as it changes, and a line to type in
Lines     what happens, line by line: over ssh, in a dumb terminal, in a pipe
"""

from __future__ import annotations

import os
import select
import sys
from typing import Final

from rich.text import Text

from minitorch_dist.pictures.terminal import painted
from mtd.cli.keyboard import Closed, Keyboard
from mtd.cli.lessons.screen import Screen
from mtd.cli.page import Page
from mtd.course.classroom import view
from mtd.course.classroom.room import Room
from transports.clock import SYSTEM

REDRAW: Final = 0.25  # seconds
MOST_TYPED: Final = 200
SAID: Final = 12  # lines of answers that stay


class ScreenLines:
    def __init__(self, room: Room, join: str, page: Page) -> None:
        self.room, self.join, self.page = room, join, page
        self._told = 0
        self._phase = ""
        self._is_open = True
        self._rest = b""

    def say(self, text: str) -> None:
        for line in text.split("\n"):
            self.page.as_it_is(line)

    def show(self) -> None:
        """The lines for all that has happened since the last time."""
        for line in self.room.story.since(self._told):
            self.page.say(Text(line))
        self._told = self.room.story.told
        step = f"{self.room.generation.number}/{self.room.step // 20}"
        if self.room.step and step != self._phase:
            self._phase = step
            self.say(view.headline(self.room))

    def picture(self) -> str:
        found = view.picture(self.room, self.page.width)
        if self.room.drawing is None:
            return "nothing was drawn yet: there is a picture of every tenth step"
        if found is None:
            return "one laptop alone sends nothing to anybody: there is nothing to draw"
        self.page.say(painted(found, self.room.drawing.scene, self.page.console))
        return ""

    def read(self, seconds: float) -> list[str]:
        """Lines that were typed meanwhile."""
        if not self._is_open:
            SYSTEM.sleep(seconds)
            return []
        try:
            is_there = bool(select.select([sys.stdin], [], [], seconds)[0])
        except (OSError, ValueError):  # not a file that can be waited for
            is_there, self._is_open = False, False
        if not is_there:
            return []
        found = os.read(sys.stdin.fileno(), 4096)
        if not found:
            self._is_open = False
            self.say("no more words can come in here; Ctrl-C ends the class")
        *lines, self._rest = (self._rest + found).split(b"\n")
        self._rest = self._rest[-MOST_TYPED:]
        return [line[:MOST_TYPED].decode(errors="replace") for line in lines if line.strip()]

    def __enter__(self) -> ScreenLines:
        self.say("A class is open. On each laptop:")
        self.say("")
        self.say(f"    {self.join}")
        self.say("")
        return self

    def __exit__(self, *error: object) -> None:
        self.show()


class Whole:
    def __init__(self, room: Room, join: str) -> None:
        self.room, self.join = room, join
        self._screen, self._keyboard = Screen(), Keyboard()
        self._typed = ""
        self._said: list[str] = []
        self._stale = SYSTEM.deadline(0)
        self._screen.on_return = self._anew

    def say(self, text: str) -> None:
        self._said = [*self._said, *text.split("\n")][-SAID:] if "\n" not in text else text.split("\n")
        self._anew()

    def _anew(self) -> None:
        self._stale = SYSTEM.deadline(0)

    def picture(self) -> str:
        return "the picture is on the screen as soon as there is one (space and ↑ scroll)"

    def show(self) -> None:
        if not self._stale.is_over():
            return
        self._stale = SYSTEM.deadline(REDRAW)
        self._screen.compose(self._draw)
        state = Text(view.headline(self.room), "bold")
        self._screen.paint(state, Text.assemble("> ", self._typed, ("█", "dim")))

    def _draw(self, page: Page) -> None:
        """As much as there is; the screen scrolls."""
        room, width = self.room, page.width
        page.as_it_is(self.join)
        page.say()
        for line in filter(None, [view.progress(room), view.loss_line(room, width)]):
            page.as_it_is(line)
        for line in view.seats(room, width):
            page.as_it_is(line)
        page.say()
        for line in view.race(room):
            page.as_it_is(line)
        rows = self._screen.room
        for line in [*view.story(room, max(3, rows // 5)), "", *self._said]:
            page.as_it_is(line)
        found = view.picture(room, width)
        if found is not None and room.drawing is not None:
            page.say()
            page.say(painted(found, room.drawing.scene, page.console))

    def read(self, seconds: float) -> list[str]:
        """Lines that were typed meanwhile, key by key."""
        try:
            key = self._keyboard.read(seconds)
        except Closed:
            raise KeyboardInterrupt from None
        if not key:
            return []
        self._anew()
        if key == "enter":
            line, self._typed = self._typed, ""
            if line.strip():
                self._said = []
                return [line]
        elif key == "back":
            self._typed = self._typed[:-1]
        elif key == "escape":
            self._typed = ""
        elif key in ("up", "down", "page up") or (key == "page down" and not self._typed):
            self._screen.scroll({"up": -1, "down": 1, "page up": -10, "page down": self._screen.room}[key])
        elif key == "page down":  # a space, within a word
            self._typed += " "
        elif len(key) == 1 and key.isprintable() and len(self._typed) < MOST_TYPED:
            self._typed += key
        return []

    def __enter__(self) -> Whole:
        self._keyboard.enter()
        self._screen.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._screen.__exit__(*error)
        self._keyboard.leave()
