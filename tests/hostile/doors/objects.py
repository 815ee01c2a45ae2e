"""Doors of objects: the codec while pickle is forbidden, and what one worker of RPC asks of another."""

from __future__ import annotations

import pickle
import struct
from collections import deque
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from minitorch_dist.distributed import codec, rpc
from minitorch_dist.distributed.codec import kinds, trust
from minitorch_dist.distributed.exceptions import RpcError
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.message import ANSWER, HEADER, ONE_WAY, REQUEST, SYSTEM, WAKE, RpcMessage
from minitorch_dist.distributed.rpc.serve import RequestServer
from minitorch_dist.distributed.rpc.worker import RpcInbox, RpcWorker
from minitorch_dist.nn.parameter import Parameter
from tests.distributed.codec import values
from tests.hostile.bending import bytes_bender, fields_of
from tests.hostile.door import Door
from transports.clock import SYSTEM as CLOCK

# --------------------------------------------------------------------------------------------- codec


SAMPLES = [
    value for value in values.samples() if not (callable(value) or isinstance(value, values.Refused | Parameter))
]


def pickled(value: Any) -> bytes:
    """The pickled form, as a peer would write it that does not care what is allowed."""
    octets = pickle.dumps(value, 5)
    front = struct.pack("<BIqB", kinds.PICKLED, 0, len(octets), 0)
    return front + octets + struct.pack("<I", 0)


def named(name: str) -> bytes:
    return struct.pack("<BI", kinds.NAMED, len(name)) + name.encode()


def framed(meta: bytes) -> bytes:
    """As `codec.pack` has it, without buffers outside."""
    return struct.pack("<QI", len(meta), 0) + meta


FORBIDDEN_FORMS = (pickled(values.Point(1, 2)), named("os:getcwd"), named("subprocess:Popen"), named("this:s"))


def tree(random: Random, size: int) -> Any:
    """A value of about so many parts, of every kind there is."""
    if size <= 1:
        return random.choice(SAMPLES)
    parts = [random.choice(SAMPLES) if size < 50 else n for n in range(size)]
    match random.randrange(5):
        case 0:
            return parts
        case 1:
            return tuple(parts)
        case 2:
            return {f"key {n}": part for n, part in enumerate(parts)}
        case 3:
            return [parts, parts, {"same": parts}]
        case _:
            inner: Any = parts[0]
            for _ in range(min(size, 150)):
                inner = [inner]
            return inner


def make_value(random: Random, size: int) -> bytes:
    return codec.pack(tree(random, size))


HEAD = 12


def value_fields(data: bytes) -> list[Any]:
    """The frame, and the places where the real reader takes counts, numbers and kinds."""
    found = fields_of("<QI")
    at = [HEAD + n for n in range(min(60, len(data) - HEAD))]
    return found + [f for n in at for f in (*fields_of("<B", n), *fields_of("<I", n), *fields_of("<q", n))]


def fit_value(random: Random, data: bytes) -> bytes:
    """A frame whose lengths are right, and now and then another kind of value inside."""
    count = min(int.from_bytes(data[8:12], "little"), 2) if len(data) >= 28 else 0
    sizes = [min(size, 64) for size in struct.unpack_from(f"<{count}Q", data, HEAD)] if count else []
    body = data[HEAD + 8 * count :]
    if random.random() < 0.25 and body:
        at = random.randrange(len(body))
        new = random.choice((bytes([random.randrange(36)]), random.choice(FORBIDDEN_FORMS), nested(random)))
        body = body[:at] + bytes(new) + body[at + 1 :]
    length = max(len(body) - sum(sizes), 0)
    sizes = sizes if length + sum(sizes) == len(body) else []
    head = struct.pack("<QI", len(body) - sum(sizes), len(sizes))
    return head + struct.pack(f"<{len(sizes)}Q", *sizes) + body


def nested(random: Random) -> bytes:
    kind = random.choice((kinds.LIST, kinds.TUPLE, kinds.SET, kinds.SLICE, kinds.DICT, kinds.EXCEPTION))
    return (bytes([kind]) + b"\1\0\0\0") * random.choice((3, 190, 210, 3000))


def read_value(data: bytes) -> None:
    found = codec.unpack(data)
    assert repr(found)  # what arrived can be shown
    try:
        again = codec.pack(found)
    except codec.CodecError:
        return  # a name or a device that is not here
    codec.unpack(again)


# ----------------------------------------------------------------------------------------------- RPC


class Mute:
    """A transport whose messages go nowhere."""

    def __init__(self) -> None:
        self.answers: dict[int, int] = {}  # the kind of each, by request

    def send(self, dst: int, header: bytes, payload: Any) -> None:
        kind, _, _, _, id, _ = HEADER.unpack(header)
        self.answers[id] = kind


class Home:
    """As much of an agent as requests need."""

    is_open = True
    send, send_if_there = RpcWorker.send, RpcWorker.send_if_there

    def __init__(self, transport: Mute) -> None:
        self.transport = transport
        self.me = WorkerInfo("me", 0)
        self.parts: dict[Any, Any] = {}
        self.dropped_refs: deque[Any] = deque()
        self.when_lost: list[Any] = []
        self.before_end: list[Any] = []
        self.after_end: list[Any] = []
        self.lost_workers: dict[int, str] = {}
        self.timeout = 1.0
        self.clock = CLOCK
        self.trust = trust.of_peers()
        self.pool = SimpleNamespace(worker=self)

    def part(self, kind: Any) -> Any:
        if kind not in self.parts:
            self.parts[kind] = kind(self)
        return self.parts[kind]

    def worker(self, id: int) -> WorkerInfo:
        if id in (0, 1):
            return WorkerInfo(f"worker {id}", id)
        raise RpcError(f"there is no worker {id}")

    def device_name(self, to: WorkerInfo, of: Any) -> str:
        return str(of)

    def tell(self, *about: Any) -> None: ...

    def call(self, *about: Any, **more: Any) -> Any:
        raise RpcError("nobody can be called here")

    def rouse(self) -> None: ...

    def condition(self, waits_for: Any) -> Any:
        return CLOCK.condition()


@rpc.functions.async_execution
def later(x: Any) -> Any:
    return x


def target(x: Any = 0, y: Any = 0) -> Any:
    return [x, y]


codec.register(target)
codec.register(later)
FORBIDDEN = ("mro", "__class__", "__subclasses__", "__init__", "__reduce_ex__", "__getattribute__", "tofile")
NAMES = (
    "append", "mro", "__class__", "__subclasses__", "__init__", "__reduce_ex__", "__getattribute__",
    "with_traceback", "upper", "format", "numpy", "tofile", "_backward_hooks", "args", "sort", "copy",
)  # fmt: skip


def make_request(random: Random, size: int) -> list[tuple[int, int, bytes]]:
    """What one worker says in a row: kind, flags, and the bytes of its only part."""
    said = []
    for number in range(1 + min(size, 6)):
        id = (1, random.randrange(3))
        call = (target, (random.choice(SAMPLES), number), {})
        ask: Any
        match random.randrange(6):
            case 0 | 1:
                operation, ask = serve.CALL, call
            case 2 | 3:
                made = random.choice((call, (KeyError, ("x",), {}), (ValueError, (1, 2), {})))
                operation = serve.REMOTE
                ask = (id, (1, 90 + number), "here.py:1", serve.CALL, made)
            case 4:
                operation, ask = serve.METHOD, (id, random.choice(NAMES), (), {})
            case _:
                operation = random.choice((serve.FETCH, serve.TYPE))
                ask = (id,)
        meta = bytes([operation]) + codec.encode(ask)[0] + codec.encode(None)[0]
        said.append((REQUEST, 0, meta))
    if random.random() < 0.3:
        operation = random.choice((serve.FORK, serve.DELETE, serve.ADOPT))
        about: Any = ((1, 0), (1, 5)) if operation != serve.ADOPT else (1, 5)
        said.append((REQUEST, random.choice((SYSTEM, SYSTEM | ONE_WAY)), bytes([operation]) + codec.encode(about)[0]))
    return said


def bend_request(random: Random, given: Any, pool: Any) -> Any:
    place = random.randrange(len(given))
    kind, flags, meta = given[place]
    others = [one[2] for said in pool for one in said]
    match random.randrange(8):
        case 0:
            flags = random.choice((0, SYSTEM, ONE_WAY, SYSTEM | ONE_WAY, 255))
        case 1:
            meta = bytes([random.randrange(20)]) + meta[1:]
        case 2:
            name = random.choice(NAMES).encode()
            old = random.choice(NAMES).encode()
            meta = meta.replace(struct.pack("<I", len(old)) + old, struct.pack("<I", len(name)) + name)
        case _:
            meta = BEND_META(random, meta, others)
    return [*given[:place], (kind, flags, meta), *given[place + 1 :]]


BEND_META = bytes_bender(
    lambda data: [f for n in range(1, min(len(data), 80)) for f in (*fields_of("<B", n), *fields_of("<I", n))]
)


class AllFailed(Exception):
    """Every request was answered with an error."""


def read_requests(given: Any) -> None:
    """Nothing that a worker says is raised here, nor runs what was not registered."""
    wire = Mute()
    home = Home(wire)
    server = RequestServer(home)  # type: ignore[arg-type]
    for id, (kind, flags, meta) in enumerate(given, 1):
        job = server.take(RpcMessage(1, kind, flags, id, [memoryview(bytearray(meta))]))
        if job is not None:
            job()
        if wire.answers.get(id) == ANSWER:
            assert not is_forbidden(meta), "a method that is not for peers was called"
    if ANSWER not in wire.answers.values():
        raise AllFailed


def is_forbidden(meta: bytes) -> bool:
    """Whether this calls by name what leads from an object to all others."""
    if meta[:1] != bytes([serve.METHOD]):
        return False
    asked = codec.Reader(meta[1:]).value()
    return isinstance(asked, tuple) and len(asked) == 4 and asked[1] in FORBIDDEN


# -------------------------------------------------------------------------------- messages of RPC in parts


def make_parts(random: Random, size: int) -> list[tuple[bytes, int]]:
    """Headers, and how many bytes follow each."""
    found = []
    for id in range(1 + min(size, 20)):
        count = random.choice((1, 1, 2, 3))
        found += [(HEADER.pack(REQUEST, 0, n, count, id, 0), random.choice((0, 1, 99))) for n in range(count)]
    return found


def bend_parts(random: Random, given: Any, pool: Any) -> Any:
    place = random.randrange(len(given))
    header, nbytes = given[place]
    bend = bytes_bender(lambda data: fields_of("<BBHHQQ"))
    return [*given[:place], (bend(random, header, [header]), nbytes), *given[place + random.randrange(2) :]]


def read_parts(given: Any) -> None:
    box = RpcInbox()
    for header, nbytes in given:
        sink = box.sink(1, header, nbytes)
        if nbytes:
            sink.write(memoryview(bytes(nbytes)))
    box.lost(1, RuntimeError("gone"))
    assert not box._begun and WAKE


def doors(folder: Path) -> list[Door]:
    return [
        Door("codec", make_value, bytes_bender(value_fields), read_value, (codec.CodecError,), fit_value, weight=2.0),
        Door(
            "rpc-requests",
            make_request,
            bend_request,
            read_requests,
            (AllFailed,),
            weight=2.0,
            is_always_right=False,
            has_large=False,
        ),
        Door("rpc-parts", make_parts, bend_parts, read_parts, (), has_large=False),
    ]
