"""A node's part in a job: join, take part in one generation after the other, notice who is gone.

    next()          join, and return when a generation has begun that has a place for us
    read_state()    the state now; the agent compares it with its own generation, between two glances
                    at its workers
    report…         what the agent says about its workers

Every node counts up a *pulse* in the store; a node that sees another's stand still for too long, by its own
clock, writes down that it is gone. So no two clocks are ever compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from minitorch_dist.distributed.elastic.rendezvous import exceptions, state as states
from minitorch_dist.distributed.elastic.rendezvous.job_log import JobLog
from minitorch_dist.distributed.elastic.rendezvous.state import JobNode, JobRules, JobState
from transports.clock import SYSTEM, Clock, Deadline
from transports.errors import DistError
from transports.stores.store import PrefixStore, Store

SLICE = 0.25  # seconds between two looks at whether we are to stop


@dataclass(frozen=True)
class Patience:
    """How long to wait for what, in seconds. Names and defaults are torch's, but for the pulse: in
    torch one every 5 s, and a node is gone after 3 that were missed."""

    join_timeout: float = 600.0  # until enough nodes have come
    last_call_timeout: float = 30.0  # for more than the fewest, the first time
    close_timeout: float = 30.0  # for the others, at the end
    keep_alive_interval: float = 1.0
    keep_alive_max_attempt: float = 10

    def until_gone(self) -> float:
        return self.keep_alive_interval * self.keep_alive_max_attempt


@dataclass
class _Pulse:
    count: bytes
    still: Deadline = field(repr=False)  # over when it has stood still for too long


class JobMembership:
    """One node's handle. `store` holds this job's keys and no other's."""

    def __init__(
        self,
        store: Store,
        node: JobNode,
        rules: JobRules,
        patience: Patience,
        clock: Clock = SYSTEM,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.node, self.patience = node, patience
        self._store, self._clock, self._say = store, clock, say
        self._ledger = JobLog(PrefixStore("job", store), node.id, JobState(rules))
        if self._ledger.state.rules != rules:
            raise exceptions.RendezvousStateError(
                f"this job was begun with {self._ledger.state.rules}, but we were started with "
                f"{rules}. Give all nodes the same --nnodes and --max-restarts; another job needs "
                "another --rdzv-id"
            )
        self._watch = JobLog(PrefixStore("job", store), f"{node.id}, watching", JobState(rules))
        self._pulses: dict[str, _Pulse] = {}
        self._resting = clock.condition(f"the next pulse of {node.id}")
        self._is_over = False
        self.broken: DistError | None = None  # the store cannot be reached any more
        self._heart = clock.start(self._beat, f"pulse of {node.id}")

    # -------------------------------------------------------------------------------- taking part

    def next(self, should_stop: Callable[[], bool] = lambda: False) -> JobState | None:
        """Join; the state in which we work, or None if `should_stop` says so meanwhile."""
        deadline = self._clock.deadline(self.patience.join_timeout)
        calling: Deadline | None = None
        told = ""
        twins = self._clock.deadline(self.patience.until_gone() + 1)  # a dead one is gone by then
        while not should_stop():
            # Not once before the loop: a generation with us may begin and end while we look away,
            # and who was taken for gone comes again.
            state = self._ledger.apply(partial(states.join, node=self.node))
            if twins.is_over():
                self._demand_own_place(state)
            if state.phase == states.CLOSED:
                raise exceptions.RendezvousClosedError(f"the job is over: {state.cause}")
            if state.phase == states.WORKING and self.node.id in state.ids():
                return state
            told = self._tell(state, told)
            if state.phase == states.GATHERING:
                enough = len(state.nodes) >= state.rules.min_nodes
                last_call = self.patience.last_call_timeout
                calling = (calling or self._clock.deadline(last_call)) if enough else None
                if calling is not None and calling.is_over() and not state.expected:
                    self._ledger.apply(states.last_call)
                    continue
                if deadline.is_over() and not enough:
                    self.leave()
                    raise exceptions.RendezvousTimeoutError(
                        f"waited {deadline.seconds:g} s for nodes: {len(state.nodes)} of at least "
                        f"{state.rules.min_nodes} came. Were the others started with the same "
                        "--rdzv-endpoint and --rdzv-id, and can they reach this host? "
                        "(--rdzv-conf join_timeout=… waits longer)"
                    )
            else:
                deadline = self._clock.deadline(self.patience.join_timeout)
            self._ledger.wait(SLICE)
        return None

    def _demand_own_place(self, state: JobState) -> None:
        """Of two nodes that were given one place, the later one has none."""
        if self.node.rank < 0:
            return
        there = [n for n in state.nodes + state.waiting if n.rank == self.node.rank]
        if there and there[0].id != self.node.id:
            self.leave()
            raise exceptions.RendezvousStateError(
                f"--node-rank {self.node.rank} is taken by {there[0].id} on {there[0].host}; every node needs its own"
            )

    def _tell(self, state: JobState, told: str) -> str:
        """Say once what we wait for."""
        rules, count = state.rules, len(state.nodes)
        if state.phase == states.WORKING and count >= rules.max_nodes:
            text = f"the job is full: {count} of at most {rules.max_nodes} nodes work. Waiting for a place"
        elif state.phase == states.GATHERING and count < rules.max_nodes:
            text = (
                f"{count} of at least {rules.min_nodes} nodes are there, and up to {rules.max_nodes} may come; waiting"
            )
        else:
            return told
        if text != told:
            self._say(text)
        return text

    def read_state(self) -> JobState:
        """The state now. Let a waiting node in if a place is free."""
        if self.broken is not None:
            raise self.broken
        state = self._ledger.update()
        if state.has_newcomers() and self.node.id in state.ids():
            state = self._ledger.apply(partial(states.changed, generation=state.generation))
        return state

    def report_failure(self, generation: int, cause: str) -> JobState:
        return self._ledger.apply(partial(states.failed, generation=generation, cause=cause))

    def report_success(self, generation: int) -> JobState:
        return self._ledger.apply(partial(states.finished, generation=generation, id=self.node.id))

    # ----------------------------------------------------------------------------------- the end

    def leave(self) -> None:
        """We are gone: the others need not find out."""
        if self.broken is None:
            self._ledger.apply(partial(states.gone, id=self.node.id))

    def say_goodbye(self, is_keeper: bool) -> None:
        """After the end: the node that keeps the store waits until the others know of it."""
        self._store.set(f"bye/{self.node.id}", b"")
        if not is_keeper:
            return
        deadline = self._clock.deadline(self.patience.close_timeout)
        state = self._ledger.update()
        others = {n.id for n in state.nodes + state.waiting} | set(state.expected)
        while others and not deadline.is_over():
            others = {id for id in others if not self._store.check([f"bye/{id}"]) and not self._is_still(id)}
            if others:
                self._ledger.wait(SLICE)

    def close(self) -> None:
        """The pulse ends; the store stays with the node that made it."""
        with self._resting:
            self._is_over = True
            self._resting.notify_all()
        self._heart.join()

    # ---------------------------------------------------------------------------------- the pulse

    def _beat(self) -> None:
        while True:
            try:
                self._store.add(f"pulse/{self.node.id}", 1)
                self._feel()
            except DistError as error:
                self.broken = error
                return
            with self._resting:
                if not self._is_over:
                    self._resting.wait(self.patience.keep_alive_interval)
                if self._is_over:
                    return

    def _feel(self) -> None:
        """Look at the pulses of all others."""
        state = self._watch.update()
        others = {node.id for node in state.nodes + state.waiting} | set(state.expected)
        for id in sorted(others - {self.node.id}):
            key = f"pulse/{id}"
            count = self._store.get(key) if self._store.check([key]) else b""
            known = self._pulses.get(id)
            if known is None or known.count != count:
                limit = self._clock.deadline(self.patience.until_gone())
                self._pulses[id] = _Pulse(count, limit)
            elif known.still.is_over() and not self._store.check([f"bye/{id}"]):
                self._say(f"{id} was not heard of for {self.patience.until_gone():g} s: it is gone")
                self._watch.apply(partial(states.gone, id=id))

    def _is_still(self, id: str) -> bool:
        known = self._pulses.get(id)
        return known is not None and known.still.is_over()
