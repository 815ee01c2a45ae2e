"""Doors of a class: what anybody's laptop may say to the teacher's program, which nothing may end."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from rich.cells import cell_len

from minitorch_dist.inventory.release import __version__
from mtd.course.classroom import messages, names, training, words
from mtd.course.classroom.guard import StoreGuard
from mtd.course.classroom.host import ClassHost
from mtd.course.classroom.messages import (
    Done,
    Drawn,
    Hello,
    Leave,
    Lost,
    Nonsense,
    Prepared,
    Pulse,
    Raced,
    Ready,
    Saved,
)
from mtd.course.classroom.room import Cannot, ClassPlan, Room
from mtd.course.classroom.training import TrainingState
from mtd.course.classroom.words import WordError
from tests.hostile.bending import WORDS, as_json, bend_plainly, bend_text, bend_tree
from tests.hostile.door import Door
from tests.hostile.doors import stores
from transports.stores.key_values import KeyValues
from transports.stores.store import HashStore

LINES = (
    '{"journal":1,"of":"minitorch_dist"}\n{"what":"world","rank":0,"world_size":2,"transport":"tcp",'
    '"clock":"real","host":"h","program":"p","at":0,"wall":0}\n'
    '{"what":"send","rank":0,"group":"g","seq":0,"step":1,"nth":0,"to":1,"bytes":8,"at":5,"until":9}\n'
)


def saying(random: Random, state: str, generation: int = 1) -> Any:
    step, seconds = random.randrange(4), random.random()
    return random.choice(
        (
            Hello("Ada", __version__, messages.PROTOCOL, "here"),
            Pulse(),
            Ready(generation),
            Lost(generation, random.randrange(-1, 3), "gone"),
            Saved(generation, step, seconds, state),
            Drawn(generation, step, LINES),
            Done(generation, "0" * 16),
            Prepared(generation),
            Raced(generation, seconds, 80, True),
            Leave(),
        )
    )


class Class:
    """A room with two laptops, in any of its phases, which hears odd things and then goes on."""

    def __init__(self) -> None:
        self.state = TrainingState.beginning().text()

    def make(self, random: Random, size: int) -> list[Any]:
        """What the laptops say in turn, as trees of JSON."""
        found = []
        for _ in range(min(size, 40) + 1):
            said = saying(random, self.state, random.choice((0, 1, 2)))
            found.append([random.randrange(3), [type(said).__name__, *said]])
        return found

    def bend(self, random: Random, given: list[Any], pool: Any) -> list[Any]:
        place = random.randrange(len(given))
        who, said = given[place]
        said = bend_tree(random, said) if random.random() < 0.9 else random.choice(WORDS)
        return [*given[:place], [who, said], *given[place + random.randrange(2) :]]

    def read(self, given: list[Any]) -> None:
        random = Random(len(given))
        room, now = Room(3, ClassPlan(steps=4, pace=0.0, picture=1)), 1.0
        laptops = [f"{n:016x}" for n in range(3)]
        for me in laptops[:2]:
            hello = Hello(f"n {me[-1]}", __version__, messages.PROTOCOL, "here")
            room.hear(me, messages.encode(hello), now)
        room.start()
        for me in laptops[:2]:
            room.hear(me, messages.encode(Ready(room.generation.number)), now)
        room.tick(now + 1)
        for who, said in given:
            data = said.encode(errors="replace") if isinstance(said, str) else as_json(random, said)
            room.hear(laptops[who], data, now)
            now += 0.1
            room.tick(now)
        for me, order in room.outbox:
            assert me in laptops
            messages.decode(messages.encode(order), messages.ORDERS)
        with suppress(Cannot):
            room.stop()
        room.end("the class is over")
        assert f"{room!r}"


def make_desk(random: Random, size: int) -> list[bytes]:
    """What stands at the teacher's desk: who says it, and what."""
    return [b"%016x " % random.randrange(2) + make_word(random, 0) for _ in range(min(size, 30) + 1)]


def bend_desk(random: Random, given: list[bytes], pool: Any) -> list[bytes]:
    place = random.randrange(len(given))
    return [*given[:place], bend_plainly(random, given[place], given), *given[place + 1 :]]


def read_desk(given: list[bytes]) -> None:
    """The host hears all of it, and goes on."""
    store = HashStore()
    host = ClassHost(store, Room(2, ClassPlan(steps=4, pace=0.0)))
    for said in given:
        store.queue_push("desk", said)
    while host.pump():
        continue
    store.queue_push("desk", b"%016x " % 3 + messages.encode(Pulse()))
    assert host.pump() == 1 and f"{host!r}"


def make_word(random: Random, size: int) -> bytes:
    return messages.encode(saying(random, "00"))


def read_message(data: bytes) -> None:
    found = messages.decode(data, messages.SAID)
    again = messages.decode(messages.encode(found), messages.SAID)
    assert again == found or "?" in f"{again}", "a message changes when it is passed on"


def bend_word(random: Random, data: bytes, pool: Any) -> bytes:
    try:
        return as_json(random, bend_tree(random, json.loads(data)))
    except (ValueError, RecursionError):
        return data[1:]


def read_name(text: str) -> None:
    for widest in (16, 3, 200):
        found = names.clean(text, widest)
        assert cell_len(found) <= widest and "\n" not in found and "\x1b" not in found
    assert names.unlike(text, ["Ada", names.clean(text)])


def read_key(text: str) -> None:
    words.normal(text)
    words.unknown(text)


def guarded(given: list[Any]) -> None:
    """The guard says no, or yes, and never anything else."""
    guard, shelf = StoreGuard(), KeyValues()
    guard.admit("0" * 15 + "1", messages.Train(1, 0, 2, 0, 4, "", "ring", 0.0, 1))
    for asked in given:
        assert isinstance(guard(1, asked, shelf), str)
        asked = asked._replace(keys=[f"g/1/0/{key}" for key in asked.keys])
        assert isinstance(guard(1, asked, shelf), str)


def doors(folder: Path) -> list[Door]:
    room = Class()
    training.golden()  # our own lessons are read when they are first asked for, and not by what a laptop says
    people = ("Ada", "Grace Hopper", "名前", "é́́", "a\u202eb", "<b>x</b>", "")
    return [
        Door("class-message", make_word, bend_word, read_message, (Nonsense,), has_large=False),
        Door("class-room", room.make, room.bend, room.read, (), weight=1.5, has_large=False),
        Door("class-host", make_desk, bend_desk, read_desk, (), has_large=False),
        Door("class-guard", stores.make_commands, stores.bend_commands, guarded, (), has_large=False,
             weight=0.5),
        Door("class-name", lambda random, size: random.choice(people), bend_text, read_name, (),
             has_large=False, weight=0.5),
        Door("class-key", lambda random, size: "maple-river otter,CLOUD", bend_text, read_key, (WordError,),
             has_large=False, weight=0.3),
    ]  # fmt: skip
