"""Be the network: every message in flight is in your hand, and you decide what becomes of it.

level = load("lost_update")
state = play(level, ["deliver 0", "deliver 1"])      what has happened, and what is in flight now
search(level).moves                                  the shortest way to break it; None: there is no way

A level's program runs in virtual time, on a wire that does nothing by itself. Whenever all ranks are at
rest the next move is made. A message is delivered, lost, or delivered while a copy of it stays; or time
passes until the first timeout. A run is made anew for each list of moves, so that a move can be taken back.

`search` tries all lists of moves, the shortest first. Two lists after which every rank has received the
same at the same times, with the same messages in flight, are one.
"""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from minitorch_dist import sim
from minitorch_dist.distributed.torch_api import objects
from minitorch_dist.sim.stage import SimulationStage
from mtd.course import levels, loading
from mtd.course.post import MessageBox
from mtd.refusals import CannotDo
from transports.virtual.medium import SimMessage

KINDS = ("deliver", "drop", "duplicate", "wait")
EVENTS = 20_000
MOST = 20_000  # runs of a search


class NoLevel(CannotDo):
    """There is no such level, or its file cannot be played."""


class Impossible(ValueError):
    """A move that cannot be made now."""


class _Enough(Exception):
    """All moves are made; nobody goes on."""


@dataclass(frozen=True)
class Level:
    name: str
    title: str
    story: str
    ranks: int
    may: Counter[str] = field(repr=False)
    run: Callable[[Any, list[Any]], Any] = field(repr=False)
    always: Callable[[list[Any]], object] = field(repr=False)
    at_the_end: Callable[[list[Any]], object] = field(repr=False)
    source: str = field(repr=False)


@dataclass(frozen=True)
class FlyingMessage:
    """In flight. `number`: the how manieth that was sent."""

    number: int
    src: int
    dst: int
    content: Any

    def __str__(self) -> str:
        return f"rank {self.src} → rank {self.dst}   {self.content!r}"


# ------------------------------------------------------------------------------------ levels


def load(name: str) -> Level:
    """One of ours, by name or number, or a file."""
    if name.isdigit() and 1 <= int(name) <= len(levels.NAMES):
        name = levels.NAMES[int(name) - 1]
    if name in levels.NAMES:
        return _level(name, importlib.import_module(f"{levels.__name__}.{name}"))
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise NoLevel(
            f"there is no level {name!r}: there are 1 to {len(levels.NAMES)} ({', '.join(levels.NAMES)}), or give a "
            "file of your own"
        )
    return _level(path.stem, loading.given(path, "mtd_level", NoLevel))


def _level(name: str, module: Any) -> Level:
    missing = [need for need in ("RANKS", "run", "__doc__") if not getattr(module, need, None)]
    if missing:
        raise NoLevel(f"the level {name} has no {', '.join(missing)}")
    title, _, story = module.__doc__.strip().partition("\n")
    may = Counter(getattr(module, "MAY", {}))
    unknown = set(may) - set(KINDS[1:])
    if unknown:
        raise NoLevel(f"the level {name} says MAY {sorted(unknown)}; there are {', '.join(KINDS[1:])}")
    source = inspect.getsource(module)
    paragraphs = [" ".join(lines.split()) for lines in story.strip().split("\n\n")]
    always, at_the_end = (getattr(module, each, lambda found: None) for each in ("always", "at_the_end"))
    title, source = title.rstrip("."), source.split('"""', 2)[2].strip("\n")
    return Level(name, title, "\n\n".join(paragraphs), module.RANKS, may, module.run, always, at_the_end, source)


# --------------------------------------------------------------------------------------- a run


class GameState:
    """The wire, after some moves: it holds what is sent, and makes the moves.

    If `broken` says something, the player has won; if `is_over`, the program.
    """

    is_unreliable = True  # a message that nobody received is part of the game

    def __init__(self, level: Level, moves: Sequence[str]) -> None:
        self._level, self._moves = level, list(moves)
        self.seen: list[Any] = []
        self.made = 0
        self.held: list[tuple[FlyingMessage, SimMessage]] = []
        self.left = Counter(level.may)  # how often the player may still do what is not free
        self.logs: dict[int, list[tuple[int, str]]] = {}
        self.sent: list[tuple[int, int, int]] = []  # each message: from whom, to whom, after how many moves
        self.came: list[tuple[int, int, bool]] = []  # message, move, whether delivered
        self.broken, self.is_over = "", False
        self.results: list[Any] = []

    @property
    def flight(self) -> list[FlyingMessage]:
        return [flying for flying, _ in self.held]

    def apply_to(self, stage: SimulationStage) -> None:
        self.clock, self.medium = stage.clock, stage.medium
        stage.medium.injector = self
        stage.clock.at_rest = self._at_rest

    # what the medium asks of a fate

    def depart(self, message: SimMessage) -> None:
        content = objects.from_bytes(message.payload)
        flying = FlyingMessage(len(self.sent), message.src.rank, message.dst.rank, content)
        self.sent.append((flying.src, flying.dst, self.made))
        self.held.append((flying, message))

    def land(self, message: SimMessage) -> None:
        self.medium.deliver(message)

    def hold(self, src: int, dst: int, picos: int) -> int:
        return picos

    def compute(self, rank: int, picos: int) -> int:
        return picos

    # moves

    def _at_rest(self) -> bool:
        self.judge()
        if self.broken:
            raise _Enough
        if not self.held:
            return False  # there is nothing to decide: time passes
        if self.made == len(self._moves):
            raise _Enough
        kind, _, number = self._moves[self.made].partition(" ")
        self.made += 1
        if kind != "deliver":
            if not self.left[kind]:
                raise Impossible(f"you may not {kind} here, or not any more")
            self.left[kind] -= 1
        if kind == "wait":
            return False
        found = next((one for one in self.held if str(one[0].number) == number), None)
        if found is None:
            raise Impossible(f"message {number} is not in flight")
        flying, message = found
        if kind == "duplicate":
            message = SimMessage(self.medium, message.src, message.dst, message.header, message.payload)
        else:
            self.held.remove(found)
        self.came.append((flying.number, self.made, kind != "drop"))
        if kind != "drop":
            said = f"{flying.src} {flying.content!r}"
            self.logs.setdefault(flying.dst, []).append((self.clock.now(), said))
            self.clock.at(self.clock.now(), partial(self.medium.deliver, message))
        else:
            self.clock.at(self.clock.now(), lambda: None)
        return True

    def judge(self) -> None:
        try:
            self._level.always(self.seen)
        except AssertionError as error:
            self.broken = self.broken or str(error)

    def key(self) -> Any:
        """Equal for states that are the same."""
        flight = sorted(f"{one.src} {one.dst} {one.content!r}" for one in self.flight)
        logs = tuple((rank, tuple(log)) for rank, log in sorted(self.logs.items()))
        return self.clock.now(), logs, tuple(flight), tuple(sorted(self.left.items()))


def play(level: Level, moves: Sequence[str]) -> GameState:
    """Make the run in which these moves are made; Impossible if one of them cannot be."""
    state = GameState(level, moves)

    def program() -> Any:
        post = MessageBox()
        result = level.run(post, state.seen)
        post.leave()
        return result

    try:
        state.results = sim.run(program, level.ranks, prepared=state.apply_to, events=EVENTS).results
    except _Enough:
        return state
    except Impossible:
        raise
    except sim.Deadlock as error:
        if state.held:
            raise Impossible("nobody's time is limited: nothing happens until you deliver something") from error
        state.broken = state.broken or "nobody can go on, and nothing is in flight"
        return state
    except Exception as error:
        state.broken = state.broken or f"{type(error).__name__}: {error}".split("\n")[0]
        return state
    state.is_over = True
    state.judge()
    try:
        level.at_the_end(state.results)
    except AssertionError as error:
        state.broken = state.broken or str(error)
    return state


def options(state: GameState) -> list[str]:
    """The moves that can be made (a wait may yet turn out to be impossible)."""
    if state.is_over or state.broken:
        return []
    found = [f"deliver {one.number}" for one in state.flight]
    for kind in ("duplicate", "drop"):
        if state.left[kind]:
            found += [f"{kind} {one.number}" for one in state.flight]
    return found + (["wait"] if state.left["wait"] and state.flight else [])


# -------------------------------------------------------------------------------- the shortest


@dataclass(frozen=True)
class Search:
    moves: list[str] | None  # None: no list of moves breaks it
    states: int  # that were looked at
    is_complete: bool = True

    @property
    def par(self) -> int:
        return 1 if self.moves is None else len(self.moves)


def search(level: Level, most: int = MOST) -> Search:
    """The shortest list of moves that breaks it: breadth first, each state once."""
    start = play(level, [])
    known, runs = {start.key()}, 1
    frontier: list[tuple[list[str], GameState]] = [([], start)]
    if start.broken:
        return Search([], 1)
    while frontier:
        following: list[tuple[list[str], GameState]] = []
        for moves, state in frontier:
            for option in options(state):
                if runs >= most:
                    return Search(None, len(known), is_complete=False)
                runs += 1
                try:
                    reached = play(level, [*moves, option])
                except Impossible:
                    continue
                if reached.broken:
                    return Search([*moves, option], len(known))
                if (key := reached.key()) not in known:
                    known.add(key)
                    following.append(([*moves, option], reached))
        frontier = following
    return Search(None, len(known))
