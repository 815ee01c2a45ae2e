"""Which worker holds which object: remote objects live exactly as long as a worker can reach them.

An object lives on its *owner*. Every worker that can reach it holds a *fork*. The owner keeps the object
while there are forks, or handles of its own. A reference that is sent is a new fork:

    owner ──ref──► user       the owner has entered the fork before it sends: nothing more to say
    user ──ref──► user'       user' asks the owner to enter its fork (FORK); when that is done it tells
                              its parent (ADOPT). Until then the parent does not let go of its own fork
    user ──ref──► owner       the owner has it anyhow, and tells the parent (ADOPT)

When a handle is garbage its fork is given back (DELETE), as soon as the fork and its children are entered. So
no order of arrival can free an object that a worker still reaches. (These are rules G1 and G2 of torch's
protocol.) `__del__` only notes a handle down, since it may run anywhere, also inside a send. The next thread
that makes a call or receives a message gives the fork back.
"""

from __future__ import annotations

import itertools
import logging
from collections import deque
from contextlib import suppress
from threading import Lock  # noqa: TID251 - guards the tables; nothing waits while holding it
from typing import Any, NamedTuple

from minitorch_dist.distributed.exceptions import DistError, WorkerLost
from minitorch_dist.distributed.rpc import serve
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.call import RpcFuture, Settled
from transports.plain_text import clean

_log = logging.getLogger("minitorch_dist.distributed.rpc")


class Id(NamedTuple):
    """A number that no other object and no other fork has."""

    created_on: int
    local_id: int

    def __repr__(self) -> str:
        return f"GloballyUniqueId(created_on={self.created_on}, local_id={self.local_id})"


class OwnerRRef:
    """An object of ours, or one that is being made."""

    def __init__(self, context: RRefContext, id: Id, site: str) -> None:
        self.context, self.id, self.site, self.owner = context, id, site, context.me
        words = f"object {id.created_on}.{id.local_id}{f', created at {clean(site)}' if site else ''}"
        self.future: RpcFuture[Any] = RpcFuture(context.agent.pool, lambda: words)  # no circle through us
        self.forks: dict[Id, int] = {}  # and which worker holds each
        self.handles = 0  # RRefs here
        self.children: dict[Id, int] = {}  # references to it that are on their way to us
        self.is_expected = False  # somebody asked for it before the order to make it came
        self.confirmed, self.error = True, None  # as of a fork: the future has what went wrong

    def is_held(self) -> bool:
        return bool(self.forks or self.handles or self.children or self.is_expected)

    def __repr__(self) -> str:
        try:
            what = type(self.future.value()).__name__ if self.future.done() else "being made"
        except Exception as error:
            what = f"failed with {type(error).__name__}"
        holders = [self.context.agent.worker(id).name for id in sorted(set(self.forks.values()))]
        held = ", ".join([*(["its owner"] if self.handles else []), *holders]) or "nobody"
        at = f", created at {clean(self.site)}" if self.site else ""
        return f"<object {self.id.created_on}.{self.id.local_id}: {what}, held by {held}{at}>"


class UserRRef:
    """A fork of ours: it keeps an object of another worker alive."""

    def __init__(self, context: RRefContext, owner: int, id: Id, fork_id: Id, site: str) -> None:
        self.context, self.owner, self.id = context, owner, id
        self.fork_id, self.site = fork_id, site
        self.confirmed = self.is_released = self.is_returned = False
        self.children: dict[Id, int] = {}  # forks on their way, and to whom
        self.error: Exception | None = None  # why there will be no object

    def is_over(self) -> bool:
        """Whether it may be given back: its handle is garbage, the owner has entered it, and its
        children are adopted."""
        return self.is_released and self.confirmed and not self.children


class RRefContext:
    """All objects and forks of one worker."""

    def __init__(self, agent: RpcAgent) -> None:
        self.agent, self.me = agent, agent.me.id
        self._numbers = itertools.count()
        self._lock = Lock()
        self._is_ending = False
        self.owned: dict[Id, OwnerRRef] = {}
        self.forks: dict[Id, UserRRef] = {}  # by fork id
        self.parents: dict[Id, OwnerRRef | UserRRef] = {}  # of forks on their way that were made here, by fork id
        self._unborn: set[Id] = set()  # forks that were given back before the order to make them came
        self.garbage: deque[Any] = agent.dropped_refs  # of handles that are no more
        agent.release_dropped_refs = self.release_dropped_refs
        agent.holds_refs = lambda: not self.is_empty()
        agent.when_lost.append(self._lost)
        agent.before_end.append(self.close)
        agent.after_end.append(self.report)

    def new_id(self) -> Id:
        return Id(self.me, next(self._numbers))

    # --------------------------------------------------------------------------------- owning

    def own(self, id: Id, site: str = "") -> OwnerRRef:
        """The entry of an object of ours. It is made if there is none yet. The lock is not held."""
        with self._lock:
            found = self.owned.get(id)
            if found is None:
                found = self.owned[id] = OwnerRRef(self, id, site)
            return found

    def expect(self, id: Id) -> OwnerRRef:
        """As `own`, for a worker that asks for the object, and so holds it."""
        entry = self.own(id)
        if not entry.is_held():
            entry.is_expected = True
        return entry

    def order(self, id: Id, fork_id: Id | None, holder: int, site: str) -> OwnerRRef:
        """An object is to be made here, for a worker that holds it (or for a handle of ours)."""
        entry = self.own(id, site)
        with self._lock:
            entry.site, entry.is_expected = site, False
            if fork_id is not None:
                self._enter(entry, fork_id, holder)
        return entry

    def enter(self, id: Id, fork_id: Id, holder: int) -> None:
        entry = self.own(id)  # the order to make it may still be on its way
        with self._lock:
            self._enter(entry, fork_id, holder)
        self.drop_if_free(id)

    def _enter(self, entry: OwnerRRef, fork_id: Id, holder: int) -> None:
        if fork_id in self._unborn:
            self._unborn.discard(fork_id)
        else:
            entry.forks[fork_id] = holder

    def give_back(self, id: Id, fork_id: Id) -> None:
        """A worker gives its fork back."""
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

    def commit(self, to: int, held: OwnerRRef | UserRRef, fork_id: Id) -> None:
        """A message with a reference in it is about to go out."""
        with self._lock:
            if isinstance(held, OwnerRRef) and to != self.me:
                held.forks[fork_id] = to
            else:
                held.children[fork_id] = to
                self.parents[fork_id] = held

    def arrive(self, owner: int, id: Id, fork_id: Id, parent: int) -> OwnerRRef | UserRRef:
        """A reference has come with a message."""
        if owner == self.me:
            entry = self.own(id)
            with self._lock:
                entry.handles += 1
            self._has_arrived(fork_id, parent)
            return entry
        fork = UserRRef(self, owner, id, fork_id, "")
        with self._lock:
            self.forks[fork_id] = fork
        if parent == owner:
            fork.confirmed = True
        else:
            asked = (tuple(id), tuple(fork_id))
            self._ask(owner, serve.FORK, asked, lambda _, error: self._entered(fork, parent, error))
        return fork

    def _has_arrived(self, fork_id: Id, parent: int) -> None:
        """A fork is entered: its parent may be given back."""
        if parent == self.me:
            self.adopted(fork_id)
        else:
            self.agent.tell(self.agent.worker(parent), serve.ADOPT, tuple(fork_id))

    def _entered(self, fork: UserRRef, parent: int, error: Exception | None) -> None:
        """The owner has entered our fork, or is gone."""
        fork.confirmed, fork.error = True, fork.error or error
        self._has_arrived(fork.fork_id, parent)
        self.settle(fork)

    def adopted(self, fork_id: Id) -> None:
        """A fork that we sent has arrived, and the owner knows of it."""
        with self._lock:
            parent = self.parents.pop(fork_id, None)
            if parent is not None:
                parent.children.pop(fork_id, None)
        if isinstance(parent, UserRRef):
            self.settle(parent)

    def _ask(self, to: int, operation: int, what: Any, settled: Settled | None = None) -> RpcFuture[Any] | None:
        """Ask a worker for something, without waiting for the answer."""
        try:
            return self.agent.ask(self.agent.worker(to), operation, what, "an RRef", 0.0, settled)
        except DistError as error:
            if settled is not None:
                settled(None, error)
            return None

    # --------------------------------------------------------------------------------- letting go

    def release_dropped_refs(self) -> None:
        """Give back the forks and handles that `__del__` has noted down."""
        while self.garbage:
            try:
                held = self.garbage.popleft()
            except IndexError:
                return
            if isinstance(held, OwnerRRef):
                with self._lock:
                    held.handles -= 1
                self.drop_if_free(held.id)
            else:
                held.is_released = True
                self.settle(held)

    def settle(self, fork: UserRRef, is_last: bool = False) -> RpcFuture[Any] | None:
        """Give a fork back, if it is over. At the end the result is a future of the owner's answer."""
        with self._lock:
            if fork.is_returned or not fork.is_over():
                return None
            fork.is_returned = True
            self.forks.pop(fork.fork_id, None)
        if fork.owner in self.agent.lost_workers:
            return None
        what = (tuple(fork.id), tuple(fork.fork_id))
        if is_last:
            return self._ask(fork.owner, serve.DELETE, what)
        self.agent.tell(self.agent.worker(fork.owner), serve.DELETE, what)
        return None

    def _lost(self, src: int, reason: str) -> None:
        """A worker is gone: drop its forks, and let RRefs to its objects fail.

        During shutdown its forks stay. A worker leaves when it has given back all it held, so a fork that
        is still entered is a leak, for `report`.
        """
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
                    fork.error = fork.error or WorkerLost(src, reason, f"was {name!r}, the owner of this RRef")
        for entry in entries:
            self.drop_if_free(entry.id)
        for fork_id in waiting:
            self.adopted(fork_id)

    def close(self) -> None:
        """All work is done everywhere: give every fork back, and log those that were still held."""
        self._is_ending = True
        self.release_dropped_refs()
        futures = []
        for fork in list(self.forks.values()):
            owner = self.agent.worker(fork.owner).name
            at = f", created at {clean(fork.site)}" if fork.site else ""
            _log.info("%r still holds %r of %r at shutdown%s", self.agent.me.name, fork.id, owner, at)
            fork.is_released = fork.confirmed = True
            fork.children.clear()
            fork.error = fork.error or DistError("RPC was shut down, and this RRef with it")
            futures.append(self.settle(fork, is_last=True))
        for future in filter(None, futures):
            with suppress(DistError):
                future.wait()

    def report(self) -> None:
        """All workers have given their forks back. Warn of objects that are still held, and free them."""
        for entry in self.owned.values():
            if entry.forks or entry.is_expected or entry.children:
                _log.warning(f"leaked: {entry!r}")
        self.owned.clear()

    def is_empty(self) -> bool:
        return not (self.owned or self.forks)


def context_of(agent: RpcAgent) -> RRefContext:
    return agent.part(RRefContext)
