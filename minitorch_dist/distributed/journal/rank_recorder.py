"""Writing a journal: what one rank's mailbox, groups and program tell, as lines (see `events`).

    place.given["journal"] ─┐
    MINITORCH_DIST_JOURNAL ─┴─► begin(…) ─► RankRecorder, set as Mailbox.recorder ─► Sheet

Nothing is kept but the counts of messages of operations that are under way, so a run may last as
long as the disk has room.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed.journal import files
from minitorch_dist.distributed.journal.files import Sheet, encoded
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Arrival, PostedReceive
from minitorch_dist.distributed.mail.recorder import Doing
from minitorch_dist.distributed.mail.wire import Fingerprint
from transports.clock import Clock
from transports.contract import Sink, Transport

MAX_ERROR: Final = 500  # characters
Counts = dict[Any, dict[tuple[int, int], int]]


def begin(transport: Transport, identity: str, given: Mapping[str, Any]) -> RankRecorder | None:
    """A recorder for this rank's world; None where nobody wants a journal.

    `identity` is the how-manieth world this is on its store: the second adds to the first's journal.
    """
    sheet = given.get("journal")
    if isinstance(sheet, Sheet):
        return RankRecorder(transport, identity, sheet, is_shared=True)
    path = files.wanted(sheet)
    if path is None:
        return None
    is_first = identity in ("", "1")
    if is_first and transport.rank == 0 and sheet is None:  # nobody launched us who would do it
        files.begin_anew(path, transport.world_size)
    own = Sheet(files.piece(path, transport.rank), more=not is_first)
    return RankRecorder(transport, identity, own, is_shared=False)


class RankRecorder:
    """The `Recorder` of one rank."""

    sees_messages = True

    def __init__(self, transport: Transport, identity: str, sheet: Sheet, is_shared: bool) -> None:
        self.sheet, self.rank, self._transport = sheet, transport.rank, transport
        self.gauge: Callable[[], int] = _nothing
        self.now = transport.clock.now
        self._is_shared = is_shared
        self._again = "" if identity in ("", "1") else f" ({identity})"
        self._start = f'"rank":{self.rank},"group":'
        self._sent: Counts = {}
        self._came: Counts = {}
        self._issued: set[Doing] = set()
        self._groups: dict[str, str] = {}
        self._held = -1
        self._line(
            "world",
            world_size=transport.world_size,
            transport=transport.scheme,
            at=self.now(),
            program=Path(sys.argv[0]).name if sys.argv else "",
            **_origin(transport.clock),
        )

    # ------------------------------------------------------------------------- what a rank does

    def issued(self, doing: Doing) -> None:
        self._issued.add(doing)
        self._write("issue", doing, f'{self._said(doing)},"at":{self.now()}')

    def began(self, doing: Doing) -> None:
        beside = ',"beside":true' if doing in self._issued else ""
        held = "" if beside else self._memory()
        self._write("begin", doing, f'{self._said(doing)}{beside},"at":{self.now()}{held}')

    def ended(self, doing: Doing, error: BaseException | None) -> None:
        beside = self._was_issued(doing)
        held = "" if beside else self._memory()
        self._write("end", doing, f'{beside},"at":{self.now()}{held}{_error(error)}')
        self._sent.pop((doing.group, doing.sequence), None)
        self._came.pop(getattr(doing, "prefix", None), None)

    def posted(self, doing: Doing, source: int | None) -> None:
        origin = "" if source is None else f',"from":{source}'
        tag = getattr(doing, "tag", 0)
        self._write("post", doing, f',"tag":{tag}{origin}{self._said(doing)},"at":{self.now()}')

    def sent(self, doing: Doing, to: int, step: int, nbytes: int, since: int, error: Exception | None = None) -> None:
        nth = _count(self._sent, (doing.group, doing.sequence), (to, step))
        is_alone = doing.sequence == wire.POINT_TO_POINT
        more = (self._said(doing) + self._was_issued(doing)) if is_alone else ""
        self._write(
            "send",
            doing,
            f',"{"tag" if is_alone else "step"}":{step},"nth":{nth},"to":{to},"bytes":{nbytes}{more}'
            f',"at":{since},"until":{self.now()}{_error(error)}',
        )

    def received(self, doing: Doing, receive: PostedReceive) -> None:
        came, receive.came = receive.came, None
        if came is None and receive.error is None:
            return  # it is written down already
        nth, arrived = came or (0, -1)
        is_alone = doing.sequence == wire.POINT_TO_POINT
        step = wire.MATCH.unpack(receive.match)[2]
        here = f',"arrived":{arrived}' if came is not None else ""
        self._write(
            "receive",
            doing,
            f',"{"tag" if is_alone else "step"}":{step},"nth":{nth},"from":{receive.sender}'
            f',"bytes":{max(receive.nbytes, 0)}{self._said(doing) if is_alone else ""}{here}'
            f',"at":{self.now()}{_error(receive.error)}',
        )

    @contextmanager
    def waiting(self, doing: Any, source: int | None) -> Iterator[None]:
        since = self.now()
        error: BaseException | None = None
        try:
            yield
        except BaseException as caught:
            error = caught
            raise
        finally:
            if isinstance(getattr(doing, "fingerprint", None), Fingerprint):
                is_within = source is not None and doing.sequence != wire.POINT_TO_POINT
                more = "" if is_within else self._said(doing)
                if getattr(doing, "receive", None) is not None:  # of p2p, whose message is a send
                    more = more.replace('"op":"send', '"op":"recv', 1)
                origin = "" if source is None else f',"from":{source}'
                self._write("wait", doing, f'{origin}{more},"at":{since},"until":{self.now()}{_error(error)}')

    def computed(self, since: int, site: str, operation: str = "", module: str = "") -> None:
        held = self.gauge()
        more: dict[str, Any] = {} if held == self._held else {"memory": held}
        if operation:
            more["op"] = f"{operation} in {module}" if module else operation
        self._held = held
        self._line("compute", site=site, at=since, until=self.now(), **more)

    def arriving(self, target: PostedReceive | Arrival, sink: Sink, src: int, header: bytes, nbytes: int) -> Sink:
        _, _, step = wire.MATCH.unpack_from(header)
        nth = getattr(self._transport, "nth", None)  # a network that loses messages says which it is
        if nth is None:
            nth = _count(self._came, header[: wire.GROUP_AND_SEQUENCE.size], (src, step))
        if nbytes == 0:
            target.came = nth, self.now()
            return sink
        return TimedSink(target, sink, nth, nbytes, self.now)

    def close(self) -> None:
        if not self._is_shared:
            self.sheet.close()

    # ----------------------------------------------------------------------------------- as lines

    def _write(self, what: str, doing: Doing, rest: str) -> None:
        name = doing.group
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = encoded(name + self._again)
        number = "" if doing.sequence == wire.POINT_TO_POINT else f',"seq":{doing.sequence}'
        self.sheet.write(f'{{"what":"{what}",{self._start}{group}{number}{rest}}}\n')

    def _line(self, what: str, **words: Any) -> None:
        self.sheet.write(encoded({"what": what, "rank": self.rank, **words}) + "\n")

    def _said(self, doing: Doing) -> str:
        return _what(doing.fingerprint, doing.site)

    def _was_issued(self, doing: Doing) -> str:
        if doing in self._issued:
            self._issued.discard(doing)
            return ',"beside":true'
        return ""

    def _memory(self) -> str:
        held = self.gauge()
        if held == self._held:
            return ""
        self._held = held
        return f',"memory":{held}'

    def __repr__(self) -> str:
        return f"<RankRecorder of rank {self.rank}, into {self.sheet!r}>"


class TimedSink:
    """A sink that notes when its last piece comes, before it passes it on."""

    __slots__ = ("_left", "_now", "_nth", "_sink", "_target", "space")

    def __init__(
        self, target: PostedReceive | Arrival, sink: Sink, nth: int, nbytes: int, now: Callable[[], int]
    ) -> None:
        self._target, self._sink, self._nth, self._left, self._now = target, sink, nth, nbytes, now
        self.space = sink.space

    def write(self, piece: memoryview) -> None:
        self._count(piece.nbytes)
        self._sink.write(piece)

    def advance(self, nbytes: int) -> None:
        self._count(nbytes)
        self._sink.advance(nbytes)

    def _count(self, nbytes: int) -> None:
        self._left -= nbytes
        if self._left <= 0:
            self._target.came = self._nth, self._now()


def _count(counts: Counts, which: Any, message: tuple[int, int]) -> int:
    """Which of the messages that match alike this one is."""
    of_this = counts.setdefault(which, {})
    number = of_this[message] = of_this.get(message, -1) + 1
    return number


@lru_cache(maxsize=4096)
def _what(fingerprint: Fingerprint, site: str) -> str:
    """The details of an operation, as JSON: its type, shape and the like, and its call site."""
    words: dict[str, Any] = {"op": fingerprint.operation}
    if fingerprint.dtype is not None:
        words["dtype"] = str(fingerprint.dtype)
    if fingerprint.shape is not None:
        words["shape"] = list(fingerprint.shape)
    if fingerprint.reduce != "none":
        words["reduce"] = fingerprint.reduce
    if fingerprint.root >= 0:
        words["root"] = fingerprint.root
    if fingerprint.algorithm:
        words["algorithm"] = fingerprint.algorithm
    if site:
        words["site"] = site
    return "," + encoded(words)[1:-1]


def _error(error: BaseException | None) -> str:
    if error is None:
        return ""
    return f',"error":{encoded(f"{type(error).__name__}: {error}"[:MAX_ERROR])}'


def _origin(clock: Clock) -> dict[str, Any]:
    """By what the clocks of several hosts can be compared; nothing in virtual time, where there is
    only one, so that equal runs write equal journals."""
    if clock.is_virtual:
        return {"clock": "virtual"}
    wall = datetime.now(UTC).timestamp()
    return {"clock": "system", "wall": wall, "host": socket.gethostname(), "pid": os.getpid()}


def _nothing() -> int:
    return -1
