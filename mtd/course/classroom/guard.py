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

from mtd.course.classroom.messages import MAX_MESSAGE, Order, Race, Train
from transports.clock import SYSTEM
from transports.stores.key_values import READS, KeyValues
from transports.stores.protocol import StoreRequest

MAX_VALUE: Final = 16 << 10  # bytes; a card has some hundred
MAX_QUEUE: Final = 20_000  # words at the desk that the host has not heard yet
MAX_WORDS: Final = 1000  # of these, of one laptop
MAX_BYTES: Final = 2 << 20  # in these words of one laptop
MAX_KEYS: Final = 100  # that one laptop may set in a generation
MAX_ASKED: Final = 2000  # keys in one request
MEETING: Final = frozenset({"set", "get", "wait", "check", "add", "compare_set", "delete_key"})
KEY: Final = re.compile(r"g/(\d{1,12})/(\d{1,2})/([!-~]{1,200})")
OWN: Final = re.compile(r"(?:^|/)(?:(?:here|waiting|mqtt)/(\d+)|left/(\d+)/\d+)(?:/|$)")  # of one rank


class SeatPlace(NamedTuple):
    """Where an order has put a laptop."""

    table: int
    rank: int


class StoreGuard:
    """Asked by the server of the store before each command of a laptop."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()  # reason: how often
        self._places: dict[tuple[int, str], SeatPlace] = {}  # by generation and laptop
        self._set: dict[tuple[int, str], set[str]] = {}
        self._said: dict[str, tuple[int, int]] = {}  # words and bytes at the desk
        # The store's thread counts words that come, and the host's those that it hears.
        self._count = SYSTEM.condition()

    def admit(self, me: str, order: Order) -> None:
        """This order is sent to this laptop."""
        if isinstance(order, Train):
            self._places[order.generation, me] = SeatPlace(0, order.rank)
        elif isinstance(order, Race):
            self._places[order.generation, me] = SeatPlace(order.table, order.rank)

    def forget(self, generation: int) -> list[str]:
        """Nobody belongs to a generation before this one any more. The keys that were set in them."""
        keys = {key for place, mine in self._set.items() if place[0] < generation for key in mine}
        self._places = {key: place for key, place in self._places.items() if key[0] >= generation}
        self._set = {key: mine for key, mine in self._set.items() if key[0] >= generation}
        return sorted(keys)

    def __call__(self, mark: int, request: StoreRequest, key_values: KeyValues) -> str:
        why = self._why_not(f"{mark:016x}", request, key_values)
        if why:
            self.refused[why] += 1
        return why

    def _why_not(self, me: str, request: StoreRequest, key_values: KeyValues) -> str:
        operation, keys = request.operation, request.keys
        if operation == "queue_push":
            return self._says(me, request, key_values)
        if keys == [f"to/{me}"]:
            return "" if operation in ("wait", "queue_pop_now") else "orders are only fetched"
        if operation not in MEETING or not keys:
            return "that is not for a laptop of a class"
        if len(keys) > MAX_ASKED:
            return f"at most {MAX_ASKED} keys"
        if sum(map(len, request.values)) > MAX_VALUE:
            return f"at most {MAX_VALUE} bytes"
        return next(filter(None, (self._may(me, operation, key) for key in keys)), "")

    def _says(self, me: str, request: StoreRequest, key_values: KeyValues) -> str:
        if request.keys != ["desk"]:
            return "a laptop speaks at the desk, and nowhere else"
        said = request.values[0] if len(request.values) == 1 else b""
        if not said.startswith(me.encode() + b" ") or len(said) > MAX_MESSAGE + len(me) + 1:
            return "a laptop speaks in its own name, and not for long"
        desk = key_values.queues.get("desk", ())
        with self._count:
            words, total = self._said.get(me, (0, 0))
            if len(desk) >= MAX_QUEUE or words >= MAX_WORDS or total + len(said) > MAX_BYTES:
                return "too much is being said"
            self._said[me] = words + 1, total + len(said)
        return ""

    def heard(self, said: bytes) -> None:
        """The host has taken this word from the desk, so its laptop may say another one."""
        me = said.partition(b" ")[0].decode("ascii", "replace")
        with self._count:
            words, total = self._said.pop(me, (0, 0))
            if words > 1:
                self._said[me] = words - 1, total - len(said)

    def _may(self, me: str, operation: str, key: str) -> str:
        found = KEY.fullmatch(key)
        place = self._places.get((int(found[1]), me)) if found else None
        if found is None or place is None or int(found[2]) != place.table:
            return "this laptop has no part in that"
        if operation in READS:
            return ""
        own = OWN.search(found[3])
        if own is not None and int(own[1] or own[2]) != place.rank:
            return f"this laptop is rank {place.rank}, and that is another rank's"
        mine = self._set.setdefault((int(found[1]), me), set())
        if key not in mine and len(mine) >= MAX_KEYS:
            return "too many keys"
        mine.add(key)
        return ""

    def __repr__(self) -> str:
        return f"<Guard of {len(self._places)} places, refused {dict(self.refused)}>"
