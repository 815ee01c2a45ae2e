"""Waiters and their keys: against a list that is gone through each time, and by the number of looks."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from transports.clock import SYSTEM
from transports.errors import DistStoreError
from transports.stores.key_values import NEEDS, KeyValues, NotYet
from transports.stores.timers import SLACK, Timers
from transports.stores.waiting import KeyWaiters

KEYS = st.sampled_from("abcd")
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(sorted(NEEDS)), st.lists(KEYS, min_size=1, max_size=4)),
        st.tuples(
            st.sampled_from(["set", "delete_key", "queue_push", "queue_pop_now", "append", "leave"]),
            st.lists(KEYS, min_size=1, max_size=3),
        ),
    ),
    max_size=40,
)


def is_ready(table: KeyValues, operation: str, keys: list[str]) -> bool:
    kinds = {"get": table.values, "wait": {**table.values, **table.queues}, "queue_pop": table.queues}
    return all(key in kinds[operation] for key in (keys[:1] if operation == "queue_pop" else keys))


@given(steps)
def test_who_waits_is_answered_as_soon_as_nothing_is_missing(made: list[tuple[str, list[str]]]) -> None:
    table = KeyValues()
    waiting: KeyWaiters[int] = KeyWaiters(table)
    asked: dict[int, tuple[str, list[str]]] = {}
    for number, (operation, keys) in enumerate(made):
        if operation in NEEDS:
            with suppress(NotYet):
                table.do(operation, keys, [])
                for _ in waiting.ready(keys):
                    raise AssertionError("a pop makes nobody ready")
                continue
            waiting.add(number, operation, keys)
            asked[number] = operation, keys
        elif operation == "leave":
            waiting.remove(min(asked, default=0))
            asked.pop(min(asked, default=0), None)
        else:
            keys = keys if operation == "set" else keys[:1]
            values = [b"1"] * len(keys) if operation in ("set", "append", "queue_push") else []
            with suppress(DistStoreError):
                table.do(operation, keys, values)
            for waiter in waiting.ready(keys):
                waiting.remove(waiter)
                table.do(*asked.pop(waiter), [])  # NotYet would fail the test
        assert not [one for one in asked.values() if is_ready(table, *one)]
        assert set(asked) == {waiter for waiter in range(len(made)) if waiter in waiting._asked}
    for waiter in list(asked):
        waiting.remove(waiter)
    assert not waiting._asked and not any(table for tables in waiting._tables.values() for table in tables)


class Counted(KeyValues):
    """It counts how often somebody looks whether a key is there."""

    looks = 0

    def is_there(self, operation: str, key: str) -> bool:
        self.looks += 1
        return super().is_there(operation, key)


@pytest.mark.parametrize("waiters", [1, 2, 50])
def test_a_change_looks_at_its_own_key_only(waiters: int) -> None:
    """However many keys others wait for; and a wait for many keys looks at each of them a few times in all."""
    table = Counted()
    waiting: KeyWaiters[int] = KeyWaiters(table)
    many = [f"{number}" for number in range(1000)]
    for waiter in range(waiters):
        waiting.add(waiter, "wait", [f"{waiter}/{key}" for key in many])
    table.looks = 0
    table.do("set", ["other"], [b""])
    assert not list(waiting.ready(["other"])) and table.looks <= len(NEEDS)
    for key in reversed(many):
        table.do("set", [f"0/{key}"], [b""])
        for waiter in waiting.ready([f"0/{key}"]):
            waiting.remove(waiter)
    assert 0 not in waiting._asked and len(waiting._asked) == waiters - 1
    assert table.looks <= 2 * len(NEEDS) * (len(many) + 2)


def test_a_pop_is_answered_once_for_each_push() -> None:
    table = KeyValues()
    waiting: KeyWaiters[str] = KeyWaiters(table)
    for name in ("first", "second"):
        waiting.add(name, "queue_pop", ["q", "a key that a pop does not need"])
    waiting.add("sees it", "wait", ["q"])
    answered = []
    for _ in range(2):
        table.do("queue_push", ["q"], [b"x"])
        for name in waiting.ready(["q"]):
            waiting.remove(name)
            answered.append(name)
            if name != "sees it":
                table.do("queue_pop", ["q"], [])
    assert answered == ["sees it", "first", "second"]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.0, 1e300, -1.0])), max_size=30))
def test_each_owner_has_one_instant(given: list[tuple[int, float]]) -> None:
    class Clock(type(SYSTEM)):  # type: ignore[misc]
        instant = 0

        def now(self) -> int:
            return self.instant

    clock = Clock()
    timers: Timers[int] = Timers(clock)
    for owner, seconds in given:
        timers.set(owner, seconds)
    last = {owner: max(seconds, 0.0) for owner, seconds in given if seconds < 1e9}
    for owner, seconds in given:  # the last one of each counts
        last = {**last, owner: max(seconds, 0.0)}
    last = {owner: seconds for owner, seconds in last.items() if seconds < 1e9}
    assert timers.left() == min(last.values(), default=None) and len(timers._ends) == len(last)
    timers.clear(9)
    assert sorted(timers.over()) == sorted(o for o, seconds in last.items() if seconds == 0)
    clock.instant = 3 * 10**12
    assert sorted(timers.over()) == sorted(o for o, seconds in last.items() if seconds > 0)
    assert len(timers._ends) == 0 and timers.left() is None


def test_instants_that_were_set_again_are_not_kept() -> None:
    timers: Timers[int] = Timers(SYSTEM)
    for _ in range(10_000):
        timers.set(1, 100.0)
    assert len(timers._heap) <= SLACK + 3
