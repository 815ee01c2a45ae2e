"""All that a class can say, and its one form on the wire: JSON with known words of known kinds and sizes.

    laptop ──► host     Hello Pulse Ready Lost Saved Drawn Done Prepared Raced Leave
    host ──► laptop     Welcome Refused Gather Train Race Go Unplugged Over

`decode` makes one of these out of bytes that anybody may have written, or says `Nonsense`. Nothing is looked up,
imported or called by what is said; there is no form for code, and none for a rank that somebody would like to have.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_type_hints

from mtd.course.classroom.training import MAX_STATE

PROTOCOL: Final = 1
MAX_MESSAGE: Final = 256 << 10  # bytes
MAX_TEXT: Final = {"state": MAX_STATE, "lines": 96 << 10, "why": 500, "text": 2000}  # letters; else:
SHORT: Final = 80
MOST: Final = 1 << 40  # of any number, and of its negative
HALF: Final = re.compile("[\ud800-\udfff]")  # a surrogate without the other


POLITE: Final = "it closed its transport"  # the `why` of Lost that gives nobody a reason to blame


class Nonsense(ValueError):
    """This is nothing that can be said in a class."""


# ------------------------------------------------------------------------- what a laptop says


class Hello(NamedTuple):
    name: str
    version: str
    protocol: int
    where: str  # host and address, as it says


class Pulse(NamedTuple):
    """I am here."""


class Ready(NamedTuple):
    """I have stopped what I did."""

    generation: int


class Lost(NamedTuple):
    """I cannot go on: a rank is gone, or something else has happened."""

    generation: int
    rank: int  # -1: none in particular
    why: str


class Saved(NamedTuple):
    """The weights after so many steps."""

    generation: int
    step: int
    loss: float
    state: str


class Drawn(NamedTuple):
    """The events of one laptop in a step: lines of a journal."""

    generation: int
    step: int
    lines: str


class Done(NamedTuple):
    """All steps are made, and these are my weights."""

    generation: int
    digest: str


class Prepared(NamedTuple):
    generation: int


class Raced(NamedTuple):
    generation: int
    seconds: float
    sent: int  # bytes
    is_right: bool


class Leave(NamedTuple):
    """Goodbye."""


# --------------------------------------------------------------------------- what the host says


class Welcome(NamedTuple):
    seat: int
    name: str  # by which this laptop is called


class Refused(NamedTuple):
    why: str


class Gather(NamedTuple):
    """Stop what you do, and say that you are ready."""

    generation: int
    why: str


class Train(NamedTuple):
    generation: int
    rank: int
    size: int
    step: int  # so many are made
    steps: int  # so many there are
    state: str
    algorithm: str
    pace: float  # seconds that a step takes at least
    picture: int  # of every so-manieth step; 0: none


class Race(NamedTuple):
    generation: int
    table: int
    algorithm: str
    rank: int
    size: int
    floats: int
    times: int


class Go(NamedTuple):
    generation: int


class Unplugged(NamedTuple):
    """You are out until you are plugged in again."""


class Over(NamedTuple):
    text: str


Said: TypeAlias = Hello | Pulse | Ready | Lost | Saved | Drawn | Done | Prepared | Raced | Leave
Order: TypeAlias = Welcome | Refused | Gather | Train | Race | Go | Unplugged | Over
SAID: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Said)}
ORDERS: Final[dict[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Order)}
FIELDS: Final = {kind: get_type_hints(kind) for kind in (*SAID.values(), *ORDERS.values())}


def encode(message: Said | Order) -> bytes:
    return json.dumps([type(message).__name__, *message], ensure_ascii=False).encode(errors="replace")


def decode(data: bytes, known: dict[str, type[Any]]) -> Any:
    """A message of one of the known kinds."""
    if len(data) > MAX_MESSAGE:
        raise Nonsense(f"{len(data)} bytes; nothing that can be said has more than {MAX_MESSAGE}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Nonsense(f"{data[:40]!r} is not JSON") from None
    if not isinstance(found, list) or not found or not isinstance(found[0], str):
        raise Nonsense(f"{data[:40]!r} is no message")
    kind = known.get(found[0])
    if kind is None:
        raise Nonsense(f"{found[0][:40]!r} is nothing that can be said here")
    fields = FIELDS[kind]
    if len(found) - 1 != len(fields):
        raise Nonsense(f"{found[0]} has {len(fields)} words, not {len(found) - 1}")
    given = zip(fields.items(), found[1:], strict=True)
    return kind(*(_word(found[0], name, wanted, value) for (name, wanted), value in given))


def _word(kind: str, name: str, wanted: type[Any], value: Any) -> Any:
    if wanted is float and type(value) is int:
        value = float(value) if abs(value) <= MOST else value
    if type(value) is not wanted:
        raise Nonsense(f"{name} of {kind} is no {wanted.__name__}")
    if isinstance(value, str) and len(value) > MAX_TEXT.get(name, SHORT):
        raise Nonsense(f"{name} of {kind} has {len(value)} letters, at most {MAX_TEXT.get(name, SHORT)}")
    if isinstance(value, str) and HALF.search(value):
        raise Nonsense(f"{name} of {kind} has half a letter, which cannot be written as UTF-8")
    if isinstance(value, int | float) and not abs(value) <= MOST:  # nan is not, either
        raise Nonsense(f"{name} of {kind} is out of all bounds")
    return value
