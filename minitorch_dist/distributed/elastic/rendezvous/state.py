"""What all nodes of a job know about it, and how it changes: pure functions, no clock, no network.

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
from typing import Any, Final

GATHERING: Final = "gathering"
WORKING: Final = "working"
CLOSED: Final = "closed"


@dataclass(frozen=True)
class Rules:
    """What the command line says; the same for all nodes of a job."""

    min_nodes: int
    max_nodes: int
    max_restarts: int = 0


@dataclass(frozen=True)
class Node:
    """An agent and the workers that it starts. `seen` is the last generation it knows of, and
    `restarts` and `peers` go with it: what is left of a job whose store was lost."""

    id: str
    host: str = ""
    workers: int = 1
    role: str = "default"
    rank: int = -1  # a place among the nodes that was given, not found
    seen: int = -1
    restarts: int = 0
    peers: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    rules: Rules
    phase: str = GATHERING
    generation: int = -1
    nodes: tuple[Node, ...] = ()  # of this generation, by group rank; or those that have joined
    waiting: tuple[Node, ...] = ()  # came while others work
    expected: tuple[str, ...] = ()  # GATHERING: ids of the last generation that will be back
    finished: tuple[str, ...] = ()  # WORKING: ids of those whose workers are all done, and well
    restarts: int = 0
    cause: str = ""  # why the last generation ended
    succeeded: bool = False  # CLOSED: how

    def ids(self) -> tuple[str, ...]:
        return tuple(node.id for node in self.nodes)

    def has_newcomers(self) -> bool:
        """Somebody waits for whom there is room."""
        return (
            self.phase == WORKING and len(self.nodes) < self.rules.max_nodes and bool(self.waiting)
        )

    def __str__(self) -> str:
        who = " ".join(self.ids()) or "nobody"
        more = f", {len(self.waiting)} waiting" if self.waiting else ""
        missing = [id for id in self.expected if id not in self.ids()]
        more += f", {' '.join(missing)} expected" if missing else ""
        return f"{self.phase} (generation {self.generation}, {self.restarts} restarts): {who}{more}"


# --------------------------------------------------------------------------------------- changes


def join(state: State, node: Node) -> State:
    """`node` is there and has no workers (any more)."""
    if state.phase == CLOSED or node.id in state.ids() + tuple(n.id for n in state.waiting):
        return state
    if state.phase == WORKING:
        return replace(state, waiting=(*state.waiting, node))
    if state.generation < node.seen:  # its store was lost: begin where that one was
        state = replace(
            state,
            generation=node.seen,
            restarts=max(state.restarts, node.restarts),
            expected=state.expected or node.peers,
        )
    return _settle(replace(state, nodes=(*state.nodes, node)))


def _settle(state: State) -> State:
    """Begin, if there is nobody to wait for."""
    there = state.nodes + state.waiting
    is_complete = len(there) >= state.rules.max_nodes or (
        state.generation >= 0 and len(there) >= state.rules.min_nodes
    )
    is_back = set(state.expected) <= {node.id for node in there}
    given = [node.rank for node in there if node.rank >= 0]
    has_twins = len(set(given)) < len(given)  # one is dead, and gone soon; or was started wrongly
    return _begin(state) if is_complete and is_back and not has_twins else state


def last_call(state: State) -> State:
    """Begin with those who are there, if they are enough: nobody waits for more any longer."""
    if state.phase == GATHERING and len(state.nodes) >= state.rules.min_nodes:
        return _begin(state)
    return state


def _begin(state: State) -> State:
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


def failed(state: State, generation: int, cause: str, is_final: bool = False) -> State:
    """A worker of this generation has failed: all start again, or (too often, or `is_final`) none."""
    if state.phase != WORKING or state.generation != generation:
        return state  # it has ended already, for another reason
    if is_final or state.restarts >= state.rules.max_restarts:
        return replace(state, phase=CLOSED, cause=cause)
    return _again(replace(state, restarts=state.restarts + 1), cause)


def changed(state: State, generation: int) -> State:
    """Who came meanwhile is to take part. That costs no restart."""
    if not state.has_newcomers() or state.generation != generation:
        return state
    return _again(state, f"{', '.join(node.id for node in state.waiting)} came")


def _again(state: State, cause: str) -> State:
    return replace(state, phase=GATHERING, nodes=(), expected=state.ids(), finished=(), cause=cause)


def gone(state: State, id: str) -> State:
    """A node has left, or was not heard of for too long."""
    state = replace(state, waiting=tuple(node for node in state.waiting if node.id != id))
    if state.phase == WORKING and id in state.ids() and id not in state.finished:
        if set(state.ids()) - {id} <= set(
            state.finished
        ):  # the others are done and will not return
            return replace(state, phase=CLOSED, cause=f"{id} is gone")
        state = _again(state, f"{id} is gone")
    if state.phase == GATHERING:
        return _settle(
            replace(
                state,
                nodes=tuple(node for node in state.nodes if node.id != id),
                expected=tuple(each for each in state.expected if each != id),
            )
        )
    return state


def finished(state: State, generation: int, id: str) -> State:
    """All workers of a node are done, and well. When all nodes are, the job is."""
    if state.phase != WORKING or state.generation != generation or id in state.finished:
        return state
    state = replace(state, finished=(*state.finished, id))
    if set(state.ids()) <= set(state.finished):
        return replace(state, phase=CLOSED, succeeded=True, cause="all have finished")
    return state


# ------------------------------------------------------------------------------------ as text


@dataclass(frozen=True)
class Entry:
    """A state as it stands in the store: who wrote it, so that it is known whose it is."""

    author: str
    state: State = field(repr=False)

    def packed(self) -> str:
        return json.dumps({"author": self.author, "state": asdict(self.state)})


def unpacked(text: bytes) -> Entry:
    said: dict[str, Any] = json.loads(text)
    state = said["state"]
    for name in ("nodes", "waiting"):
        state[name] = tuple(Node(**{**n, "peers": tuple(n["peers"])}) for n in state[name])
    for name in ("expected", "finished"):
        state[name] = tuple(state[name])
    return Entry(said["author"], State(**{**state, "rules": Rules(**state["rules"])}))
