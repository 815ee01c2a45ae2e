"""The events that the core tells to its observers. It imports none of them: they attach themselves.

    nodes       an operation was recorded as a node      checkpointing
    around      a node computes its gradients            the profiler, a simulated device
    operated    an operation has read and written        a simulated device that takes time
    copies      bytes go to the host's memory, or back   the same
    memory      an accelerator's memory is taken         the ledger

Usually there are no observers, and then an event costs one test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock  # noqa: TID251 - guards counts; nothing waits in here
from typing import Any, Literal, TypeAlias

Listener: TypeAlias = Callable[..., None]
Execute: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]  # from a node's gradients to its inputs'

_changing = RLock()


class Listeners:
    """Functions that are called with each event of one kind: in a block of one thread, or in the whole process."""

    on = False  # whether there is one

    def __init__(self, name: str) -> None:
        self._here: ContextVar[tuple[Listener, ...]] = ContextVar(name, default=())
        self._everywhere: tuple[Listener, ...] = ()  # in all threads
        self._count = 0  # of blocks, in all threads

    def tell(self, *event: Any) -> None:
        """Called with every event while `on`. Of two blocks the inner one's listener is called first."""
        for listener in (*self._everywhere, *reversed(self._here.get())):
            listener(*event)

    @contextmanager
    def listening(self, listener: Listener, alone: bool = False) -> Iterator[None]:
        """Call `listener` with the events of this thread inside; those further out too, unless it listens `alone`."""
        token = self._here.set((listener,) if alone else (*self._here.get(), listener))
        self._change(+1)
        try:
            yield
        finally:
            self._here.reset(token)
            self._change(-1)

    def listen_everywhere(self, listener: Listener, wanted: bool) -> None:
        """Call `listener` with every event of the process from now on, or no longer."""
        with _changing:
            self._everywhere = _with(self._everywhere, listener, wanted)
            self._change(0)

    def here(self) -> tuple[Listener, ...]:
        """The listeners of the blocks that this thread is in."""
        return self._here.get()

    def _change(self, by: int) -> None:
        with _changing:
            self._count += by
            self.on = bool(self._everywhere) or self._count > 0


def _with(present: tuple[Any, ...], one: Any, wanted: bool) -> tuple[Any, ...]:
    others = tuple([each for each in present if each != one])  # a method is a new object each time
    return (*others, one) if wanted else others


def watch(event: Literal["around", "operations", "passes"], listener: Callable[..., Any], wanted: bool) -> None:
    """Call `listener` with every event of the process that is "around", "operations" or "passes", or no longer."""
    with _changing:
        globals()[event] = _with(globals()[event], listener, wanted)


# ------------------------------------------------------------------------------- recorded

nodes = Listeners("nodes")  # told of every node that is recorded

# --------------------------------------------------------------------------------- around

around: tuple[Callable[[Any, Execute], Execute], ...] = ()
"""Each `one(node, execute)` replaces how every node computes its gradients."""


def surrounded(node: Any, execute: Execute) -> Execute:
    """How `node` computes its gradients by `execute` while observers stand around it."""
    for one in around:
        execute = one(node, execute)
    return execute


# ------------------------------------------------------------------------------- operated

operations: tuple[Listener, ...] = ()


def operated(name: str, reads: Sequence[Any], writes: Sequence[Any]) -> None:
    """Called while there are `operations`: this one has read and written these arrays."""
    for listener in operations:
        listener(name, reads, writes)


# --------------------------------------------------------------------------------- copies

copies = Listeners("copies")
"""Told of bytes that begin to go to the host's memory, or to come back: whose they are, how many, whether to the host.
And, with None for how many, that somebody waits until those of an owner are there."""

# --------------------------------------------------------------------------------- passes

passes: tuple[Listener, ...] = ()


def begins(tasks: Any) -> None:
    """Called when a backward pass begins, with what is known of each node that it reaches."""
    for listener in passes:
        listener(tasks)


# --------------------------------------------------------------------------------- memory


class Unwatched:
    """Is told what happens in an accelerator's memory, and does nothing. `tensors.ledger_observer` has one that counts.

    stored(array, device)              a storage with these bytes was made
    kept(node, outs)                   an operation was recorded that made `outs`; its node keeps what its gradient needs
    arrived(grads, device)             gradients travel: each is an array, a numpy scalar, or None
    collected(grad, device)            a leaf has this array as its gradient now
    given_up(owner, device)            the bytes of `owner` were given up; the result is passed to `taken_back`
    taken_back(owner, device, noted)   the bytes that were given up are in use again
    """

    def __getattr__(self, event: str) -> Listener:
        return lambda *told: None


memory: Any = Unwatched()
