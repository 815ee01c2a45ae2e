"""What a laptop may do in the host's store: speak in its own name, and meet the ranks with whom it was put."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, strategies as st

from mtd.course.classroom.guard import MAX_KEYS, MAX_QUEUE, StoreGuard
from mtd.course.classroom.messages import MAX_MESSAGE, Race, Train
from transports.stores.key_values import OPERATIONS, KeyValues
from transports.stores.protocol import StoreRequest

ADA, MALLORY = 0xA, 0xB
ME = f"{ADA:016x}"


@pytest.fixture
def guard() -> StoreGuard:
    """Ada is rank 1 of generation 3, and was at table 1 in race 2."""
    made = StoreGuard()
    made.admit(ME, Train(3, 1, 2, 0, 20, "", "binomial", 0.0, 0))
    made.admit(ME, Race(2, 1, "ring", 0, 2, 1, 1))
    return made


def may(guard: StoreGuard, operation: str, key: str, value: bytes = b"", mark: int = ADA) -> bool:
    return not guard(mark, StoreRequest(operation, [key], [value] if value else [], 1.0), KeyValues())


@pytest.mark.parametrize(
    ("operation", "key", "value"),
    [
        ("queue_push", "desk", ME.encode() + b" hello"),
        ("wait", f"to/{ME}", b""),
        ("queue_pop_now", f"to/{ME}", b""),
        ("compare_set", "g/3/0/default_pg/world_size", b"2"),
        ("add", "g/3/0/default_pg/here/1", b"1"),
        ("set", "g/3/0/default_pg/1/mqtt/1", b"card"),
        ("add", "g/3/0/default_pg/1/mqtt/1/taken", b"1"),
        ("wait", "g/3/0/default_pg/1/mqtt/0", b""),
        ("get", "g/3/0/default_pg/1/mqtt/0", b""),
        ("set", "g/3/0/default_pg/left/1/1", b""),
        ("add", "g/3/0/default_pg/left/1", b"1"),
        ("set", "g/2/1/default_pg/1/mqtt/0", b"card"),
    ],
)
def test_what_it_needs(guard: StoreGuard, operation: str, key: str, value: bytes) -> None:
    assert may(guard, operation, key, value), guard
    assert not may(guard, operation, key, value, mark=MALLORY), "the same by somebody without a seat at that table"


@pytest.mark.parametrize(
    ("operation", "key", "value"),
    [
        ("queue_push", "desk", b"%016x I am Mallory" % MALLORY),
        ("queue_push", "desk", b""),
        ("queue_push", "desk", ME.encode()),
        ("queue_push", f"to/{MALLORY:016x}", ME.encode() + b" obey"),
        ("queue_push", f"to/{ME}", ME.encode() + b" x"),
        ("queue_push", "g/3/0/x", b"x"),
        ("queue_push", "desk", ME.encode() + b" " * (MAX_MESSAGE + 2)),
        ("queue_pop_now", "desk", b""),
        ("queue_pop", "desk", b""),
        ("queue_pop_now", f"to/{MALLORY:016x}", b""),
        ("wait", f"to/{MALLORY:016x}", b""),
        ("set", f"to/{ME}", b"x"),
        ("delete_key", f"to/{ME}", b""),
        ("num_keys", "", b""),
        ("set", "roster", b"me"),
        ("set", "g/3/0/default_pg/1/mqtt/0", b"I am rank 0"),
        ("add", "g/3/0/default_pg/here/0", b"1"),
        ("delete_key", "g/3/0/default_pg/1/mqtt/0", b""),
        ("set", "g/3/0/default_pg/left/0/1", b""),
        ("set", "g/3/1/default_pg/1/mqtt/1", b"x"),
        ("set", "g/4/0/default_pg/1/mqtt/1", b"x"),
        ("set", "g/03/0/x/../../4", b"x" * (17 << 10)),
        ("set", "g/3/0/", b"x"),
        ("set", "g/3/0/\x1b", b"x"),
        ("eval", "x", b"1"),
    ],
)
def test_what_nobody_may(guard: StoreGuard, operation: str, key: str, value: bytes) -> None:
    assert not may(guard, operation, key, value)
    assert sum(guard.refused.values()) == 1


def test_several_keys_are_all_looked_at(guard: StoreGuard) -> None:
    own, other = "g/3/0/1/mqtt/1", "g/3/0/1/mqtt/0"
    assert not guard(ADA, StoreRequest("wait", [own, other], [], 1.0), KeyValues())
    assert guard(ADA, StoreRequest("set", [own, other], [b"1", b"2"], 1.0), KeyValues())
    assert guard(ADA, StoreRequest("set", [], [], 1.0), KeyValues())


def test_a_flood_ends(guard: StoreGuard) -> None:
    said = StoreRequest("queue_push", ["desk"], [ME.encode() + b" x"], 1.0)
    key_values = KeyValues()
    key_values.queues["desk"] = deque([b""] * MAX_QUEUE)
    assert guard(ADA, said, key_values)
    key_values.queues["desk"].popleft()
    assert not guard(ADA, said, key_values)
    assert [may(guard, "set", f"g/3/0/{n}", b"x") for n in range(MAX_KEYS + 1)] == [True] * MAX_KEYS + [False]


@given(
    st.sampled_from([*OPERATIONS, "", "__class__"]),
    st.lists(st.text(max_size=30), max_size=3),
    st.lists(st.binary(max_size=30), max_size=3),
)
def test_any_command_of_a_stranger_is_refused(operation: str, keys: list[str], values: list[bytes]) -> None:
    guard = StoreGuard()
    why = guard(MALLORY, StoreRequest(operation, keys, values, 1.0), KeyValues())
    assert why or operation == "queue_push"
