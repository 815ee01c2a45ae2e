"""Doors of the stores: what clients ask, what a server answers, and the file of a `FileStore`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.bending import WORDS, bytes_bender, fields_of, odd
from tests.hostile.door import Door
from transports import frames, job
from transports.clock import SYSTEM
from transports.errors import DistStoreError, OtherJob, StoreTimeout, TrustError
from transports.frames import FrameError
from transports.mqtt_protocol import address as mqtt, frames as channel
from transports.mqtt_protocol.frames import Frame
from transports.mqtt_protocol.store_end import Topics
from transports.mqtt_protocol.store_server import MqttStoreServer
from transports.stores import processes, protocol
from transports.stores.file import HEAD, JOIN, LEAVE, SUM, FileStore, framed, packed
from transports.stores.key_values import OPERATIONS, READS, KeyValues, NotYet
from transports.stores.protocol import StoreRequest

NEEDED = {  # how many keys and values a right command has
    "set": (1, 1), "get": (1, 0), "add": (1, 1), "compare_set": (1, 2), "wait": (1, 0),
    "check": (1, 0), "delete_key": (1, 0), "num_keys": (0, 0),
    "queue_push": (1, 1), "queue_pop": (1, 0), "queue_pop_now": (1, 0), "queue_len": (1, 0),
}  # fmt: skip


def request(random: Random, size: int) -> StoreRequest:
    operation = random.choice(tuple(OPERATIONS))
    keys, values = NEEDED.get(operation, (1, 1))
    names = [random.choice("abcd") for _ in range(keys)]
    amounts = [b"%d" % random.randrange(9) for _ in range(values)]
    return StoreRequest(operation, names, amounts, random.choice((0.0, 0.5, float("inf"))))


def make_request(random: Random, size: int) -> bytes:
    asked = request(random, size)
    if asked.operation in ("get", "wait", "check") and size > 8:
        asked = asked._replace(keys=[f"k{n}" for n in range(size)])
    return protocol.pack_request(asked)[frames.LENGTH :]


def list_fields(data: bytes) -> list[Any]:
    """Count and lengths of a list of byte strings."""
    found, at = fields_of("<I"), 4
    while at + 4 <= len(data) and len(found) < 40:
        found += fields_of("<I", at)
        at += 4 + int.from_bytes(data[at : at + 4], "little")
    return found


def fit_list(random: Random, data: bytes) -> bytes:
    """The fields that can be made out, with the right count and lengths."""
    fields, at = list[bytes](), 4
    while at + 4 <= len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        fields.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    if fields and random.random() < 0.3:
        fields[random.randrange(len(fields))] = random.choice((b"-1", b"9" * 30, b"nan", b"1e999", b"\xff"))
    return protocol.pack(fields)[frames.LENGTH :]


def read_request(data: bytes) -> None:
    """What the server does with it, on a shelf of its own."""
    asked = protocol.unpack_request(data)
    shelf = KeyValues()
    shelf.values |= {"a": b"1", "b": b"text"}
    shelf.do("queue_push", ["c"], [b"x"])
    before = dict(shelf.values), {key: list(queue) for key, queue in shelf.queues.items()}
    try:
        answer: Any = shelf.do(*asked[:3])
    except (NotYet, DistStoreError) as error:
        after = dict(shelf.values), {key: list(queue) for key, queue in shelf.queues.items()}
        assert after == before, "a command that failed has changed something"
        answer = error
        if isinstance(error, NotYet):
            answer = StoreTimeout(asked.seconds, error.missing, [], "")
    protocol.pack_answer(answer)
    assert shelf.do("set", ["z"], [b"1"]) == [] and shelf.do("get", ["z"], []) == [b"1"]
    shelf.values.pop("y", None)  # the request may have made one, which holds no number
    assert shelf.do("add", ["y"], [b"2"]) == [b"2"] and shelf.do("num_keys", [], [])


def make_answer(random: Random, size: int) -> bytes:
    answer: Any = random.choice(
        ([random.randbytes(5) for _ in range(size)], StoreTimeout(1.0, ["a"], ["b"], "note"), DistStoreError("no"))
    )
    return protocol.pack_answer(answer)[frames.LENGTH :]


def read_answer(data: bytes) -> None:
    protocol.unpack_answer(data, 1.0)


# ----------------------------------------------------------------------------------- commands in a row


def make_commands(random: Random, size: int) -> list[StoreRequest]:
    return [request(random, size) for _ in range(min(size, 60) + 1)]


def bend_commands(random: Random, given: list[StoreRequest], pool: Any) -> list[StoreRequest]:
    """One command in an odd form: keys or values too many, too few or strange."""
    place = random.randrange(len(given))
    asked = given[place]
    keys, values = list(asked.keys), list(asked.values)
    match random.randrange(5):
        case 0:
            keys = keys[1:] if random.random() < 0.5 else keys * random.choice((2, 3))
        case 1:
            values = values[1:] if random.random() < 0.5 else values * random.choice((2, 3))
        case 2:
            keys = [*keys, random.choice(WORDS).encode(errors="replace").decode()]
        case 3:
            values = [f"{odd(random)}".encode(errors="replace") for _ in values or keys]
        case _:
            asked = asked._replace(operation=random.choice((*OPERATIONS, "", "__class__")))
    return [*given[:place], asked._replace(keys=keys, values=values), *given[place + 1 :]]


def read_commands(given: list[StoreRequest]) -> None:
    """One shelf for all of them, with an honest counter that has to stay right."""
    shelf = KeyValues()
    for number, asked in enumerate(given, 1):
        with suppress(NotYet, DistStoreError):
            shelf.do(asked.operation, asked.keys, asked.values)
        assert shelf.do("add", ["the counter of an honest one"], [b"1"]) == [b"%d" % number]


# ------------------------------------------------------------------------------------- a file of commands


class File:
    """The file of a FileStore that others have written to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store"
        self.made = 0

    def read(self, data: bytes) -> None:
        self.path.unlink(missing_ok=True)
        file = os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(file, data)
        os.close(file)
        store = FileStore(self.path, 3, timeout=0.001)
        try:
            with suppress(StoreTimeout):
                store.get("a")
            store.set("mine", "1")
            assert store.get("mine") == b"1"
        finally:
            store.close()


def make_log(random: Random, size: int) -> bytes:
    user = f"{processes.mark()} 00".encode()
    mine = job.here()
    asked = [StoreRequest(JOIN, [], [user, mine.marks().packed(), f"{mine}".encode()], 0.0)]
    shelf = KeyValues()
    for _ in range(min(size, 300)):
        one = request(random, 1)._replace(seconds=0.0)
        try:
            shelf.do(*one[:3])
        except (NotYet, DistStoreError):
            continue
        if one.operation not in READS:
            asked.append(one)
    if random.random() < 0.2:
        asked.append(StoreRequest(LEAVE, [], [user], 0.0))
    return b"".join(map(packed, asked))


def log_fields(data: bytes) -> list[Any]:
    found, at = [], 0
    while at + HEAD <= len(data) and len(found) < 40:
        found += fields_of("<2sHIQI", at) + fields_of("<II", at + HEAD)
        at += HEAD + int.from_bytes(data[at + 8 : at + 16], "little") + SUM
    return found


def fit_log(random: Random, data: bytes) -> bytes:
    """Whole records, with their checksums, of which one says something else."""
    found, at = list[bytes](), 0
    while at + HEAD <= len(data):
        length = int.from_bytes(data[at + 8 : at + 16], "little")
        found.append(data[at + HEAD : at + HEAD + length])
        at += HEAD + length + SUM
    if found:
        place = random.randrange(len(found))
        found[place] = fit_list(random, found[place])
    return b"".join(framed(frames.pack(0, len(body)) + body) for body in found)


# ------------------------------------------------------------------------- a store that a broker carries

NAME = "hostile"


def make_asking(random: Random, size: int) -> list[Frame]:
    """What askers, two of them, send to the keeper."""
    found = []
    for number in range(min(size, 12) + 1):
        body = make_request(random, 1)
        kind = random.choice((channel.ASK, channel.ASK, channel.HELLO))
        mark = random.randrange(1, 3)
        found.append(Frame(kind, 0, 0, mark, 7, seq=number, acked=0, body=memoryview(body)))
    return found


def bend_asking(random: Random, given: list[Frame], pool: Any) -> list[Frame]:
    place = random.randrange(len(given))
    frame, body = given[place], bytes(given[place].body)
    match random.randrange(5):
        case 0:
            frame = frame._replace(kind=random.choice((*channel.KINDS, 0, 255)))
        case 1:
            frame = frame._replace(seq=random.choice((0, 1, 5, 2**63, 2**64 - 1)))
        case 2:
            frame = frame._replace(acked=random.choice((0, 1, 5, 2**63, 2**64 - 1)))
        case 3:
            frame = frame._replace(body=memoryview(BEND_LIST(random, body, [body])))
        case _:
            asked = bend_commands(random, [request(random, 1)], pool)[0]
            seconds = random.choice((0.0, -1.0, 1e300, 1e-300, float("inf"), -float("inf")))
            packed = protocol.pack_request(asked._replace(seconds=seconds))
            frame = frame._replace(body=memoryview(packed[frames.LENGTH :]))
    return [*given[:place], frame, *given[place + random.randrange(2) :]]


BEND_LIST = bytes_bender(list_fields)
ADDRESS = mqtt.parse(f"mqtt://127.0.0.1:1/{NAME}")


def read_asking(given: list[Frame]) -> None:
    """Nothing is raised in the keeper's thread, and who keeps the store goes on using it."""
    keeper = MqttStoreServer(ADDRESS, NAME, 7, SYSTEM)
    with keeper.changed:
        keeper._claim()
    topics = Topics(NAME)
    try:
        for number, frame in enumerate(given):
            sealed = channel.seal(topics.key, frame, frame.body)
            keeper.heard(topics.owner if number % 7 == 6 else topics.ask, bytes(sealed))
            keeper.tick()
        assert keeper.command("add", ["an honest count"], [b"1"], 0.0) == [b"1"]
        assert not keeper.dropped["error"], "the server met an error that it did not expect"
    finally:
        keeper._connection.close()


def doors(folder: Path) -> list[Door]:
    store = folder / "store"
    store.mkdir(exist_ok=True)
    return [
        Door("store-request", make_request, bytes_bender(list_fields), read_request, (FrameError,), fit_list),
        Door("store-answer", make_answer, bytes_bender(list_fields), read_answer,
             (FrameError, StoreTimeout, DistStoreError), fit_list, is_always_right=False),
        Door("store-by-broker", make_asking, bend_asking, read_asking, (), has_large=False, weight=0.7),
        Door("store-commands", make_commands, bend_commands, read_commands, (), weight=0.6),
        Door("store-file", make_log, bytes_bender(log_fields), File(store).read,
             (DistStoreError, TrustError, OtherJob), fit_log, folder=store, weight=0.6, is_always_right=False),
    ]  # fmt: skip
