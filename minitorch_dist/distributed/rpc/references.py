"""Who holds which object of whom: the book that keeps remote objects alive, exactly as long as needed.

An object lives on its *owner*. Every worker that can reach it holds a *fork*, and the owner keeps the
object while there are forks (or handles of its own). Sending a reference makes a new fork:

    owner ──ref──► user       the owner has entered the fork before it sends: nothing more to say
    user ──ref──► user'       user' asks the owner to enter its fork (FORK); when that is done it tells
                              its parent (ADOPT). Until then the parent does not let go of its own fork
    user ──ref──► owner       the owner has it anyhow, and tells the parent (ADOPT)

A handle that is garbage gives its fork back (DELETE), once the fork is entered and its children are.
So no order of arrival can free what somebody still reaches. (It is torch's protocol, whose notes call
these rules G1 and G2.) What is garbage is noted down by `__del__` and given back by the next thread
that comes along: `__del__` may run anywhere, also inside a send.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.rpc import operations
from minitorch_dist.distributed.rpc.agent import Agent
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.errors import WorkerLost

KEY: Final = "rrefs"
_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Id(NamedTuple):
    """A number that is nobody else's."""

    created_on: int
    local_id: int

    def __repr__(self) -> str:
        return f"GloballyUniqueId(created_on={self.created_on}, local_id={self.local_id})"


class Owned:
    """An object of ours, or one that is being made."""

    __slots__ = ("book", "forks", "future", "handles", "id", "is_expected", "pins", "site")

    def __init__(self, book: Book, id: Id, site: str) -> None:
        self.book, self.id, self.site = book, id, site
        words = f"object {id.created_on}.{id.local_id}{f', created at {site}' if site else ''}"
        self.future: RpcFuture[Any] = RpcFuture(book.agent, lambda: words)  # no circle through us
        self.forks: dict[Id, int] = {}  # and which worker holds each
        self.handles = 0  # RRefs here
        self.pins = 0  # references to it that are on their way to us
        self.is_expected = False  # somebody asked for it before the order to make it came

    def is_held(self) -> bool:
        return bool(self.forks or self.handles or self.pins or self.is_expected)

    def __repr__(self) -> str:
        if not self.future.done():
            what = "being made"
        else:
            try:
                what = type(self.future.value()).__name__
            except Exception as error:
                what = f"failed with {type(error).__name__}"
        holders = [self.book.agent.worker(id).name for id in sorted(set(self.forks.values()))]
        held = ", ".join([*(["its owner"] if self.handles else []), *holders]) or "nobody"
        at = f", created at {self.site}" if self.site else ""
        return f"<object {self.id.created_on}.{self.id.local_id}: {what}, held by {held}{at}>"


class Fork:
    """Our right to an object of another worker."""

    __slots__ = (
        "book", "children", "confirmed", "error", "fork_id", "id", "is_released", "is_returned",
        "owner", "parent", "site", "type",
    )  # fmt: skip

    def __init__(self, book: Book, owner: int, id: Id, fork_id: Id, site: str) -> None:
        self.book, self.owner, self.id, self.fork_id, self.site = book, owner, id, fork_id, site
        self.confirmed = self.is_released = self.is_returned = False
        self.children: dict[Id, int] = {}  # forks on their way, and to whom
        self.error: Exception | None = None  # why there will be no object
        self.type: Any = None  # of the object, once it was asked for

    def is_over(self) -> bool:
        """Whether the owner may be told that it is no more: its handle is garbage, the owner has
        entered it, and its children are adopted."""
        return self.is_released and self.confirmed and not self.children

    def __repr__(self) -> str:
        state = "confirmed" if self.confirmed else "not confirmed"
        return f"<fork {self.fork_id} of {self.id} on worker {self.owner}, {state}>"


class Book:
    """All references of one worker."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.me = agent, agent.me.id
        self._numbers = itertools.count(agent.first_number)
        self._lock = Lock()
        self._is_ending = False
        self.owned: dict[Id, Owned] = {}
        self.forks: dict[Id, Fork] = {}  # by fork id
        self.parents: dict[Id, Fork] = {}  # of forks on their way that were made here, by fork id
        self.pinned: dict[Id, Owned] = {}  # objects of ours, sent to ourselves
        self._unborn: set[Id] = (
            set()
        )  # forks that were given back before the order to make them came
        self.garbage: deque[Any] = agent.litter  # Owned and Fork, of handles that are no more
        agent.sweep = self.sweep
        agent.extras[KEY] = self
        agent.extras.setdefault("when_lost", []).append(self._lost)
        agent.extras.setdefault("before_end", []).append(self.close)
        agent.extras.setdefault("after_end", []).append(self.report)

    def new_id(self) -> Id:
        return Id(self.me, next(self._numbers))

    # --------------------------------------------------------------------------------- owning

    def own(self, id: Id, site: str = "") -> Owned:
        """The entry of an object of ours; made if there is none yet. The lock is not held."""
        with self._lock:
            found = self.owned.get(id)
            if found is None:
                found = self.owned[id] = Owned(self, id, site)
            return found

    def expect(self, id: Id) -> Owned:
        """As `own`, for somebody who asks for the object, and so holds it."""
        entry = self.own(id)
        if not entry.is_held():
            entry.is_expected = True
        return entry

    def order(self, id: Id, fork_id: Id | None, holder: int, site: str) -> Owned:
        """An object is to be made here, for a worker that holds it (or for a handle of ours)."""
        entry = self.own(id, site)
        with self._lock:
            entry.site, entry.is_expected = site, False
            if fork_id is not None and fork_id not in self._unborn:
                entry.forks[fork_id] = holder
            self._unborn.discard(fork_id or id)
        return entry

    def enter(self, id: Id, fork_id: Id, holder: int) -> None:
        entry = self.own(id)  # the order to make it may still be on its way
        with self._lock:
            entry.forks[fork_id] = holder

    def give_back(self, id: Id, fork_id: Id) -> None:
        """A fork is no more."""
        with self._lock:
            entry = self.owned.get(id)
            if entry is None or entry.forks.pop(fork_id, None) is None:
                self._unborn.add(fork_id)
        self.drop_if_free(id)

    def drop_if_free(self, id: Id) -> None:
        with self._lock:
            entry = self.owned.get(id)
            if entry is None or entry.is_held():
                return
            del self.owned[id]
        # the object itself goes here, outside of the lock: its __del__ may do anything

    # ------------------------------------------------------------------------------- travelling

    def commit(self, to: int, held: Owned | Fork, fork_id: Id) -> None:
        """A message with a reference in it is about to go out."""
        with self._lock:
            if isinstance(held, Fork):
                held.children[fork_id] = to
                self.parents[fork_id] = held
            elif to == self.me:
                held.pins += 1
                self.pinned[fork_id] = held
            else:
                held.forks[fork_id] = to

    def arrive(self, owner: int, id: Id, fork_id: Id, parent: int) -> Owned | Fork:
        """A reference has come with a message."""
        if owner == self.me:
            entry = self.own(id)
            with self._lock:
                entry.handles += 1
            if parent == self.me:
                self._unpin(fork_id)
            else:
                self.agent.tell(self.agent.worker(parent), operations.ADOPT, tuple(fork_id))
            return entry
        fork = Fork(self, owner, id, fork_id, "")
        with self._lock:
            self.forks[fork_id] = fork
        if parent == owner:
            fork.confirmed = True
        else:
            asked = (tuple(id), tuple(fork_id))
            self._ask(
                owner, operations.FORK, asked, lambda error: self._entered(fork, parent, error)
            )
        return fork

    def _unpin(self, fork_id: Id) -> None:
        with self._lock:
            entry = self.pinned.pop(fork_id, None)
            if entry is not None:
                entry.pins -= 1

    def _entered(self, fork: Fork, parent: int, error: Exception | None) -> None:
        """The owner has entered our fork, or is gone."""
        fork.confirmed, fork.error = True, fork.error or error
        if parent == self.me:
            self.adopted(fork.fork_id)
        else:
            self.agent.tell(self.agent.worker(parent), operations.ADOPT, tuple(fork.fork_id))
        self.settle(fork)

    def adopted(self, fork_id: Id) -> None:
        """A fork that we sent has arrived, and the owner knows of it."""
        with self._lock:
            parent = self.parents.pop(fork_id, None)
            if parent is not None:
                parent.children.pop(fork_id, None)
        if parent is not None:
            self.settle(parent)

    def _ask(
        self, to: int, operation: int, what: Any,
        settled: Callable[[Exception | None], None] | None = None,
    ) -> RpcFuture[Any] | None:  # fmt: skip
        """Ask a worker for something; nobody waits for the answer here."""
        try:
            return self.agent.call(
                self.agent.worker(to), operation, lambda writer: writer.value(what), "an RRef", 0.0,
                is_system=True, settled=settled,
            )  # fmt: skip
        except DistError as error:
            if settled is not None:
                settled(error)
            return None

    # --------------------------------------------------------------------------------- letting go

    def sweep(self) -> None:
        """Give back what has become garbage."""
        while self.garbage:
            try:
                held = self.garbage.popleft()
            except IndexError:
                return
            if isinstance(held, Owned):
                with self._lock:
                    held.handles -= 1
                self.drop_if_free(held.id)
            else:
                held.is_released = True
                self.settle(held)

    def settle(self, fork: Fork, is_last: bool = False) -> RpcFuture[Any] | None:
        """Give a fork back, if the time has come; at the end with an answer that can be waited for."""
        with self._lock:
            if fork.is_returned or not fork.is_over():
                return None
            fork.is_returned = True
            self.forks.pop(fork.fork_id, None)
        if fork.owner in self.agent.lost_workers:
            return None
        what = (tuple(fork.id), tuple(fork.fork_id))
        if is_last:
            return self._ask(fork.owner, operations.DELETE, what)
        self.agent.tell(self.agent.worker(fork.owner), operations.DELETE, what)
        return None

    def _lost(self, src: int, reason: str) -> None:
        """What a lost worker held is free, and what it owned is gone. At the end workers leave when
        they have given back: what one still holds then is a leak, and stays for the report."""
        with self._lock:
            held = [] if self._is_ending else list(self.owned.values())
            entries = [entry for entry in held if src in entry.forks.values()]
            for entry in entries:
                for fork_id in [f for f, holder in entry.forks.items() if holder == src]:
                    del entry.forks[fork_id]
            waiting = [
                fork_id
                for fork_id, parent in self.parents.items()
                if parent.children.get(fork_id) == src or parent.owner == src
            ]
            for fork in self.forks.values():
                if fork.owner == src:
                    name = self.agent.worker(src).name
                    fork.error = fork.error or WorkerLost(
                        src, reason, f"was {name!r}, the owner of this RRef"
                    )
        for entry in entries:
            self.drop_if_free(entry.id)
        for fork_id in waiting:
            self.adopted(fork_id)

    def close(self) -> None:
        """Shutdown: all work is done everywhere. Give everything back; say what was still held."""
        self._is_ending = True
        self.sweep()
        alive = list(self.forks.values())
        futures = []
        for fork in alive:
            owner = self.agent.worker(fork.owner).name
            at = f", created at {fork.site}" if fork.site else ""
            _log.info(
                "%r still holds %r of %r at shutdown%s", self.agent.me.name, fork.id, owner, at
            )
            fork.is_released = fork.confirmed = True
            fork.children.clear()
            fork.error = fork.error or DistError("RPC was shut down, and this RRef with it")
            futures.append(self.settle(fork, is_last=True))
        self.parents.clear()
        for future in futures:
            if future is not None:
                with suppress(DistError):
                    future.wait()

    def report(self) -> None:
        """Everybody has given back what he held: what is still held never will be. Say so, and free it."""
        for entry in list(self.owned.values()):
            if entry.forks or entry.is_expected or entry.pins:
                _log.warning(f"leaked: {entry!r}")
        self.owned.clear()

    def is_empty(self) -> bool:
        return not (self.owned or self.forks)

    def __repr__(self) -> str:
        return (
            f"<Book of {self.agent.me.name!r}: {len(self.owned)} objects, {len(self.forks)} forks>"
        )


def book_of(agent: Agent) -> Book:
    found = agent.extras.get(KEY)
    return found if isinstance(found, Book) else Book(agent)


def _fork(agent: Agent, src: int, said: Any) -> None:
    id, fork_id = said
    book_of(agent).enter(Id(*id), Id(*fork_id), src)


def _delete(agent: Agent, src: int, said: Any) -> None:
    id, fork_id = said
    book_of(agent).give_back(Id(*id), Id(*fork_id))


def _adopt(agent: Agent, src: int, said: Any) -> None:
    book_of(agent).adopted(Id(*said))


operations.let_handle(operations.FORK, _fork)
operations.let_handle(operations.DELETE, _delete)
operations.let_handle(operations.ADOPT, _adopt)
