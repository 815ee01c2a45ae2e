"""The state of a job that all its nodes know, and how it changes: pure functions, no clock, no network.

    GATHERING ── enough nodes have joined ──► WORKING, generation g
        ▲                                        │
        └── a worker failed (counts as restart), │
            a node came or went (does not) ──────┤
                                                 └──► CLOSED: all have finished, or it is hopeless

A *generation* is one world: these nodes, in this order, started together. Its number only grows, so
that nothing of an earlier one can be taken for something of the present one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, get_args, get_type_hints

from minitorch_dist.distributed.elastic.rendezvous.exceptions import RendezvousStateError

GATHERING: Final = "gathering"
WORKING: Final = "working"
CLOSED: Final = "closed"


@dataclass(frozen=True)
class JobRules:
    """The rules from the command line; the same for all nodes of a job."""

    min_nodes: int
    max_nodes: int
    max_restarts: int = 0


@dataclass(frozen=True)
class JobNode:
    """An agent and the workers that it starts."""

    id: str
    host: str = ""
    workers: int = 1
    rank: int = -1  # a place among the nodes that was given, not found


@dataclass(frozen=True)
class JobState:
    rules: JobRules
    phase: str = GATHERING
    generation: int = -1
    nodes: tuple[JobNode, ...] = ()  # of this generation, by group rank; or those that have joined
    waiting: tuple[JobNode, ...] = ()  # came while others work
    expected: tuple[str, ...] = ()  # GATHERING: ids of the last generation that will be back
    finished: tuple[str, ...] = ()  # WORKING: ids of those whose workers are all done, and well
    restarts: int = 0
    cause: str = ""  # why the last generation ended
    succeeded: bool = False  # CLOSED: how

    def ids(self) -> tuple[str, ...]:
        return tuple(node.id for node in self.nodes)

    def has_newcomers(self) -> bool:
        """Somebody waits for whom there is room."""
        return self.phase == WORKING and len(self.nodes) < self.rules.max_nodes and bool(self.waiting)


# --------------------------------------------------------------------------------------- changes


def join(state: JobState, node: JobNode) -> JobState:
    """`node` is there and has no workers (any more)."""
    if state.phase == CLOSED or node.id in state.ids() + tuple(n.id for n in state.waiting):
        return state
    if state.phase == WORKING:
        return replace(state, waiting=(*state.waiting, node))
    return _settle(replace(state, nodes=(*state.nodes, node)))


def _settle(state: JobState) -> JobState:
    """Begin, if there is nobody to wait for."""
    there = state.nodes + state.waiting
    is_complete = len(there) >= state.rules.max_nodes or (state.generation >= 0 and len(there) >= state.rules.min_nodes)
    is_back = set(state.expected) <= {node.id for node in there}
    given = [node.rank for node in there if node.rank >= 0]
    has_twins = len(set(given)) < len(given)  # one is dead, and gone soon; or was started wrongly
    return _begin(state) if is_complete and is_back and not has_twins else state


def last_call(state: JobState) -> JobState:
    """Begin with those who are there, if they are enough: nobody waits for more any longer."""
    if state.phase == GATHERING and len(state.nodes) >= state.rules.min_nodes:
        return _begin(state)
    return state


def _begin(state: JobState) -> JobState:
    """The next generation. Nodes keep their order; given places come first of all."""
    there = state.nodes + state.waiting
    places = {id: number for number, id in enumerate(state.expected)}
    order = sorted(there, key=lambda n: (n.rank, places.get(n.id, len(places))))
    most = state.rules.max_nodes
    return replace(
        state,
        phase=WORKING,
        generation=state.generation + 1,
        nodes=tuple(order[:most]),
        waiting=tuple(order[most:]),
        expected=(),
        finished=(),
    )


def failed(state: JobState, generation: int, cause: str) -> JobState:
    """A worker of this generation has failed: all start again, or (too often) none."""
    if state.phase != WORKING or state.generation != generation:
        return state  # it has ended already, for another reason
    if state.restarts >= state.rules.max_restarts:
        return replace(state, phase=CLOSED, cause=cause)
    return _again(replace(state, restarts=state.restarts + 1), cause)


def changed(state: JobState, generation: int) -> JobState:
    """Nodes that came meanwhile are to take part. That costs no restart."""
    if not state.has_newcomers() or state.generation != generation:
        return state
    return _again(state, f"{', '.join(node.id for node in state.waiting)} came")


def _again(state: JobState, cause: str) -> JobState:
    return replace(state, phase=GATHERING, nodes=(), expected=state.ids(), finished=(), cause=cause)


def gone(state: JobState, id: str) -> JobState:
    """A node has left, or was not heard of for too long."""
    state = replace(state, waiting=tuple(node for node in state.waiting if node.id != id))
    if state.phase == WORKING and id in state.ids() and id not in state.finished:
        if set(state.ids()) - {id} <= set(state.finished):  # the others are done and will not return
            return replace(state, phase=CLOSED, cause=f"{id} is gone")
        state = _again(state, f"{id} is gone")
    if state.phase == GATHERING:
        nodes = tuple(node for node in state.nodes if node.id != id)
        expected = tuple(each for each in state.expected if each != id)
        return _settle(replace(state, nodes=nodes, expected=expected))
    return state


def finished(state: JobState, generation: int, id: str) -> JobState:
    """All workers of a node are done, and well. When all nodes are, the job is."""
    if state.phase != WORKING or state.generation != generation or id in state.finished:
        return state
    state = replace(state, finished=(*state.finished, id))
    if set(state.ids()) <= set(state.finished):
        return replace(state, phase=CLOSED, succeeded=True, cause="all have finished")
    return state


# ------------------------------------------------------------------------------------ as text


@dataclass(frozen=True)
class StateEntry:
    """A state as it stands in the store, with its writer."""

    author: str
    state: JobState = field(repr=False)

    def packed(self) -> str:
        return json.dumps({"author": self.author, "state": asdict(self.state)})


_FIELDS: Final = {kind: get_type_hints(kind) for kind in (JobRules, JobNode, JobState, StateEntry)}


def unpacked(text: bytes) -> StateEntry:
    """The entry in this text; RendezvousStateError if there is none."""
    try:
        entry: StateEntry = _read(StateEntry, json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise RendezvousStateError(
            f"what stands in the store is no state of a job ({error}): {text[:80]!r}. Does another "
            "program use this store, or a node with another version of minitorch_dist?"
        ) from None
    return entry


def _read(kind: Any, value: Any) -> Any:
    """The value as `kind`: a number, a text, a dataclass from its table, or a tuple of those."""
    if kind in (int, str, bool):
        if type(value) is not kind:
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")
        return value
    if kind in _FIELDS:
        wanted = _FIELDS[kind]
        if not isinstance(value, dict) or value.keys() != wanted.keys():
            raise TypeError(f"{value!r:.40} is no table of {', '.join(wanted)}")
        return kind(**{name: _read(hint, value[name]) for name, hint in wanted.items()})
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is not a list")
    return tuple(_read(get_args(kind)[0], one) for one in value)
