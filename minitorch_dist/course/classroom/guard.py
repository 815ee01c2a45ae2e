"""Which commands of the store a laptop may give: its own words, its own orders, and the keys of its own rank.

    queue_push desk "<me> …"             say something, in its own name
    wait, queue_pop_now to/<me>          fetch its own orders
    g/<generation>/<table>/…             only where an order has put it; what is a rank's, only of its own

The broker's rules (`transports.broker.rules`) see to it that nobody else can ask in its name; so the roster that the
host has made is the one by which ranks find each other, whatever a laptop would like to be.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

from minitorch_dist.course.classroom.messages import MAX_MESSAGE, Order, Race, Train
from transports.stores.protocol import Request
from transports.stores.shelf import READS, Shelf

MAX_VALUE: Final = 16 << 10  # bytes; a card has some hundred
MAX_QUEUE: Final = 20_000  # words at the desk that the host has not heard yet
MAX_KEYS: Final = 100  # that one laptop may set in a generation
MEETING: Final = frozenset({"set", "get", "wait", "check", "add", "compare_set", "delete_key"})
KEY: Final = re.compile(r"g/(\d{1,12})/(\d{1,2})/([!-~]{1,200})")
OWN: Final = re.compile(
    r"(?:^|/)(?:(?:here|waiting|mqtt)/(\d+)|left/(\d+)/\d+)(?:/|$)"
)  # of one rank


class Place(NamedTuple):
    """Where an order has put a laptop."""

    table: int
    rank: int


class Guard:
    """Asked by the keeper of the store before each command of a laptop."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()  # reason: how often
        self._places: dict[tuple[int, str], Place] = {}  # by generation and laptop
        self._set: dict[tuple[int, str], set[str]] = {}

    def admit(self, me: str, order: Order) -> None:
        """This order is sent to this laptop."""
        if isinstance(order, Train):
            self._places[order.generation, me] = Place(0, order.rank)
        elif isinstance(order, Race):
            self._places[order.generation, me] = Place(order.table, order.rank)

    def __call__(self, mark: int, request: Request, shelf: Shelf) -> str:
        why = self._why_not(f"{mark:016x}", request, shelf)
        if why:
            self.refused[why] += 1
        return why

    def _why_not(self, me: str, request: Request, shelf: Shelf) -> str:
        operation, keys = request.operation, request.keys
        if operation == "queue_push":
            return self._says(me, request, shelf)
        if keys == [f"to/{me}"]:
            return "" if operation in ("wait", "queue_pop_now") else "orders are only fetched"
        if operation not in MEETING or not keys:
            return "that is not for a laptop of a class"
        if sum(map(len, request.values)) > MAX_VALUE:
            return f"at most {MAX_VALUE} bytes"
        return next(filter(None, (self._may(me, operation, key) for key in keys)), "")

    def _says(self, me: str, request: Request, shelf: Shelf) -> str:
        if request.keys != ["desk"]:
            return "a laptop speaks at the desk, and nowhere else"
        said = request.values[0] if len(request.values) == 1 else b""
        if not said.startswith(me.encode() + b" ") or len(said) > MAX_MESSAGE + len(me) + 1:
            return "a laptop speaks in its own name, and not for long"
        return "too much is being said" if len(shelf.queues.get("desk", ())) >= MAX_QUEUE else ""

    def _may(self, me: str, operation: str, key: str) -> str:
        found = KEY.fullmatch(key)
        place = self._places.get((int(found[1]), me)) if found else None
        if found is None or place is None or int(found[2]) != place.table:
            return "this laptop has no part in that"
        if operation in READS:
            return ""
        own = OWN.search(found[3])
        if own is not None and int(own[1] or own[2]) != place.rank:
            return f"this laptop is rank {place.rank}, and that is rank {own[1] or own[2]}'s"
        mine = self._set.setdefault((int(found[1]), me), set())
        mine.add(key)
        return "too many keys" if len(mine) > MAX_KEYS else ""

    def __repr__(self) -> str:
        return f"<Guard of {len(self._places)} places, refused {dict(self.refused)}>"
