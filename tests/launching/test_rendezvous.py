"""Nodes that join and leave: as pure changes of a state, then as threads in virtual time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from minitorch_dist.distributed.elastic.rendezvous import state as states
from minitorch_dist.distributed.elastic.rendezvous.exceptions import (
    RendezvousClosedError,
    RendezvousStateError,
    RendezvousTimeoutError,
)
from minitorch_dist.distributed.elastic.rendezvous.job_log import JobLog
from minitorch_dist.distributed.elastic.rendezvous.membership import JobMembership, Patience
from minitorch_dist.distributed.elastic.rendezvous.places import parsed
from minitorch_dist.distributed.elastic.rendezvous.state import JobNode, JobRules, JobState, StateEntry
from transports.stores.store import HashStore
from transports.virtual.clock import VirtualClock

NAMES = "abcde"
events = st.lists(
    st.tuples(
        st.sampled_from(["join", "fail", "changed", "gone", "finish", "last_call"]),
        st.sampled_from(NAMES),
        st.integers(0, 1),  # of how many generations ago it speaks
    ),
    max_size=40,
)


def act(state: JobState, what: str, who: str, age: int) -> JobState:
    generation = state.generation - age
    if what == "join":
        return states.join(state, JobNode(who))
    if what == "gone":
        return states.gone(state, who)
    if what == "finish":
        return states.finished(state, generation, who) if who in state.ids() else state
    if what == "fail":
        return states.failed(state, generation, f"{who} failed")
    return states.changed(state, generation) if what == "changed" else states.last_call(state)


@given(st.integers(1, 3).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, 4))), st.integers(0, 3), events)
@settings(max_examples=300)
def test_whatever_happens_a_generation_is_sound(nodes: tuple[int, int], restarts: int, happening: list[Any]) -> None:
    rules = JobRules(*nodes, restarts)
    state = JobState(rules)
    for what, who, age in happening:
        before, state = state, act(state, what, who, age)
        assert state.generation - before.generation in (0, 1)
        assert before.restarts <= state.restarts <= restarts
        assert len(set(state.ids())) == len(state.ids())
        everybody = [*state.ids(), *(node.id for node in state.waiting)]
        assert len(set(everybody)) == len(everybody)
        if state.phase == states.WORKING:
            assert rules.min_nodes <= len(state.nodes) <= rules.max_nodes
        if before.phase == states.CLOSED:
            assert state.phase == states.CLOSED
        if what in ("fail", "finish", "changed") and age and before.generation >= 0:
            assert state == before  # a zombie of an old generation changes nothing
        assert states.unpacked(StateEntry("x", state).packed().encode()).state == state


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ((), [], "is no table of author, state"),
        (("author",), 3, "3 is no str"),
        (("state",), None, "None is no table of rules"),
        (("state", "rules"), {"min_nodes": 1}, "is no table of min_nodes, max_nodes, max_restarts"),
        (("state", "generation"), True, "True is no int"),
        (("state", "generation"), 1.0, "1.0 is no int"),
        (("state", "succeeded"), 1, "1 is no bool"),
        (("state", "nodes"), {}, "{} is not a list"),
        (("state", "finished"), "ab", "'ab' is not a list"),
        (("state", "nodes", 0, "__class__"), "x", "is no table of id, host"),
        (("state", "expected"), [1], "1 is no str"),
    ],
)
def test_what_is_no_state_of_a_job_is_said(path: tuple[Any, ...], value: Any, says: str) -> None:
    said = json.loads(StateEntry("x", working(1, 2, 0, "a", "b")).packed())
    holder = {"": said}
    for key in ("", *path)[:-1]:
        holder = holder[key]
    holder[path[-1] if path else ""] = value
    text = json.dumps(said if path else value).encode()
    with pytest.raises(RendezvousStateError, match=re.escape(says)):
        states.unpacked(text)


@pytest.mark.parametrize("text", [b"", b"\xff", b"[" * 100_000, b"1" * 5000, b"nonsense"])
def test_what_is_no_json_is_no_state_of_a_job(text: bytes) -> None:
    with pytest.raises(RendezvousStateError, match="is no state of a job"):
        states.unpacked(text)


def working(fewest: int, most: int, restarts: int, *names: str) -> JobState:
    state = JobState(JobRules(fewest, most, restarts))
    for name in names:
        state = states.join(state, JobNode(name, workers=2))
    return states.last_call(state)


def test_a_failure_costs_a_restart_and_coming_or_going_does_not() -> None:
    state = working(1, 3, 1, "a", "b")
    assert (state.phase, state.generation, state.ids()) == (states.WORKING, 0, ("a", "b"))
    state = states.failed(state, 0, "boom")
    assert (state.phase, state.restarts, state.expected) == (states.GATHERING, 1, ("a", "b"))
    state = states.join(states.join(state, JobNode("b")), JobNode("a"))
    assert (state.generation, state.ids()) == (1, ("a", "b"))  # the order stays
    state = states.changed(states.join(state, JobNode("c")), 1)
    assert (state.phase, state.restarts) == (states.GATHERING, 1)
    state = states.gone(states.join(state, JobNode("b")), "a")
    assert (state.phase, state.generation, state.ids(), state.restarts) == (states.WORKING, 2, ("b", "c"), 1)
    assert states.failed(state, 2, "again").phase == states.CLOSED


def test_a_full_job_lets_the_late_wait_until_there_is_a_place() -> None:
    state = states.join(working(1, 2, 0, "a", "b"), JobNode("late"))
    assert not state.has_newcomers()
    state = states.gone(state, "a")
    state = states.join(state, JobNode("b"))
    assert (state.generation, state.ids()) == (1, ("b", "late"))


def test_given_places_decide_the_order() -> None:
    state = JobState(JobRules(3, 3))
    for name, rank in (("x", 2), ("y", 0), ("z", 1)):
        state = states.join(state, JobNode(name, rank=rank))
    assert state.ids() == ("y", "z", "x")


def test_who_comes_second_reads_what_was_written() -> None:
    store = HashStore()
    one, two = (JobLog(store, name, JobState(JobRules(2, 2))) for name in "ab")
    one.apply(lambda state: states.join(state, JobNode("a")))
    two.apply(lambda state: states.join(state, JobNode("b")))
    assert two.state.ids() == ("a", "b") == one.update().ids()
    assert JobLog(store, "c", JobState(JobRules(1, 1))).state == two.state
    assert two.state.phase == states.WORKING


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ("localhost", 29400)),
        ("h", ("h", 29400)),
        ("h:5", ("h", 5)),
        ("[::1]:7", ("::1", 7)),
        ("[::1]", ("::1", 29400)),
        ("::1", ("::1", 29400)),
        ("10.0.0.1:0", ("10.0.0.1", 0)),
    ],
)
def test_endpoints(text: str, expected: tuple[str, int]) -> None:
    assert parsed(text) == expected


def test_bad_endpoints() -> None:
    for text in ("h:x", "h:70000"):
        with pytest.raises(ValueError, match="h:"):
            parsed(text)


# ----------------------------------------------------------------------------- in virtual time


class Job:
    """Nodes as threads in virtual time; what they see goes to `seen`."""

    def __init__(self, fewest: int, most: int, restarts: int = 0, **patience: float) -> None:
        self.clock = VirtualClock()
        self.store = HashStore(self.clock, 10_000)
        self.rules = JobRules(fewest, most, restarts)
        self.patience = Patience(**patience)  # type: ignore[arg-type]
        self.seen: list[tuple[str, Any]] = []
        self.said: list[str] = []
        self.threads: list[Any] = []

    def membership(self, name: str, rank: int = -1) -> JobMembership:
        return JobMembership(
            self.store, JobNode(name, rank=rank), self.rules, self.patience, self.clock, self.said.append
        )

    def node(self, name: str, act: Any, delay: float = 0.0, rank: int = -1) -> None:
        def live() -> None:
            self.clock.sleep(delay)
            membership = None
            try:
                membership = self.membership(name, rank)
                act(membership)
            except Exception as error:
                self.seen.append((name, error))
            finally:
                if membership is not None:
                    membership.close()

        self.threads.append(lambda: self.clock.start(live, name))

    def run(self) -> list[tuple[str, Any]]:
        for thread in [start() for start in self.threads]:
            thread.join()
        return self.seen

    def work(self, membership: JobMembership, seconds: float, generations: int = 99) -> None:
        """Take part: each generation lasts until the state changes, or succeeds after a while."""
        while generations:
            state = membership.next()
            assert state is not None
            self.seen.append((membership.node.id, state.ids()))
            generations -= 1
            deadline = self.clock.deadline(seconds)
            while not deadline.is_over():
                now = membership.read_state()
                if now.generation != state.generation or now.phase != states.WORKING:
                    break
                membership._ledger.wait(0.5)
            else:
                membership.report_success(state.generation)
            while now.generation == state.generation and now.phase == states.WORKING:
                now = membership._ledger.wait(0.5)
            if now.phase == states.CLOSED:
                return


def test_the_last_call_lets_few_begin_and_more_join_later() -> None:
    job = Job(1, 3, last_call_timeout=30)
    job.node("a", lambda m: job.work(m, 100))
    job.node("b", lambda m: job.work(m, 100), delay=50)
    seen = job.run()
    assert seen[0] == ("a", ("a",))
    assert sorted(seen[1:]) == [("a", ("a", "b")), ("b", ("a", "b"))]
    assert any("up to 3 may come" in text for text in job.said)


def test_who_is_silent_is_gone_and_the_others_go_on() -> None:
    job = Job(1, 2)

    def die(membership: JobMembership) -> None:
        membership.next()
        membership.close()  # no pulse any more, and no word

    job.node("a", lambda m: job.work(m, 60))
    job.node("b", die)
    seen = job.run()
    assert seen == [("a", ("a", "b")), ("a", ("a",))]
    assert any("b was not heard of for 10 s" in text for text in job.said)


def test_too_few_nodes_are_told_so() -> None:
    job = Job(2, 2, join_timeout=20)
    job.node("a", lambda m: m.next())
    [(_, error)] = job.run()
    assert isinstance(error, RendezvousTimeoutError) and "1 of at least 2 came" in str(error)


def test_another_job_at_the_same_place_is_told_so() -> None:
    job = Job(1, 1)
    job.node("a", lambda m: job.work(m, 30))
    job.run()
    job.rules = JobRules(2, 2)
    job.threads.clear()
    job.node("b", lambda m: m.next())
    _, error = job.run()[-1]
    assert isinstance(error, RendezvousStateError) and "another --rdzv-id" in str(error)


def test_a_job_that_is_over_takes_nobody() -> None:
    job = Job(1, 1)
    job.node("a", lambda m: job.work(m, 5))
    job.node("late", lambda m: job.work(m, 5), delay=20)
    _, error = job.run()[-1]
    assert isinstance(error, RendezvousClosedError)


def test_two_nodes_with_one_rank_are_told_so() -> None:
    job = Job(2, 2, join_timeout=60)
    job.node("a", lambda m: m.next(), rank=0)
    job.node("b", lambda m: m.next(), delay=1, rank=0)
    job.node("c", lambda m: m.next(), delay=20, rank=1)
    job.run()
    [error] = [error for name, error in job.seen if name == "b"]
    assert isinstance(error, RendezvousStateError) and "--node-rank 0 is taken by a" in str(error)
    assert not [name for name, error in job.seen if name != "b"]  # the others have begun


lives = st.lists(
    st.tuples(
        st.integers(0, 30),  # when it comes
        st.integers(1, 30),  # how long it stays
        st.sampled_from(["works", "dies", "leaves", "fails"]),
    ),
    min_size=1,
    max_size=4,
)


@given(lives, st.integers(1, 2), st.integers(0, 2))
@settings(max_examples=150)
def test_whoever_comes_and_goes_all_see_the_same_generations(
    happening: list[tuple[int, int, str]], fewest: int, restarts: int
) -> None:
    """Nodes that come, work, die, leave and fail, each at a moment of its own; nobody hangs."""
    job = Job(
        fewest,
        3,
        restarts,
        join_timeout=40,
        last_call_timeout=3,
        close_timeout=5,
        keep_alive_interval=3,
        keep_alive_max_attempt=3,
    )
    worlds: dict[int, set[tuple[str, ...]]] = {}
    ends: list[tuple[str, str]] = []

    def live(membership: JobMembership, stay: int, how: str) -> None:
        name = membership.node.id
        life = job.clock.deadline(stay)
        while True:
            state = membership.next()
            assert state is not None and name in state.ids()
            worlds.setdefault(state.generation, set()).add(state.ids())
            now = state
            while (now.phase, now.generation) == (states.WORKING, state.generation):
                if life.is_over():
                    if how == "dies":
                        return
                    if how == "leaves":
                        return membership.leave()
                    if how == "fails":
                        how = "works"
                        membership.report_failure(state.generation, f"{name} failed")
                    else:
                        membership.report_success(state.generation)
                membership._ledger.wait(2)
                now = membership.read_state()
            if now.phase == states.CLOSED:
                ends.append((name, now.cause))
                return

    for number, (delay, stay, how) in enumerate(happening):
        job.node(f"n{number}", lambda m, s=stay, h=how: live(m, s, h), delay)
    for name, error in job.run():
        assert isinstance(error, RendezvousClosedError | RendezvousTimeoutError), (name, error)
    assert all(len(seen) == 1 for seen in worlds.values())  # one world per generation
    assert sorted(worlds) == list(range(len(worlds)))
    assert len({cause for _, cause in ends}) <= 1  # and one end
