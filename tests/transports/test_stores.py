"""What every kind of store does alike; torch's HashStore is the oracle where it is installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from minitorch_dist import distributed
from tests.transports.brokers import Broker
from transports.errors import DistStoreError, QueueEmptyError, StoreTimeout
from transports.mqtt_protocol.store import MQTTStore
from transports.stores.file import FileStore
from transports.stores.store import HashStore, PrefixStore, Store
from transports.stores.tcp import TCPStore


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    made = Broker("embedded")
    yield made
    made.stop()


@pytest.fixture(params=["hash", "prefix", "tcp", "file", "mqtt store server", "mqtt"])
def store(request: pytest.FixtureRequest, tmp_path: Path, broker: Broker) -> Iterator[Store]:
    made: Store = HashStore()
    store_server: Store | None = None
    if request.param == "prefix":
        made = PrefixStore("a/b", PrefixStore("c", made))
    if request.param == "tcp":
        made = TCPStore("localhost", 0, is_master=True)
    if request.param == "file":
        made = FileStore(tmp_path / "store")
    if request.param.startswith("mqtt"):
        address = f"{broker.address}/{uuid4().hex}"
        made = store_server = MQTTStore(address, 0)
    if request.param == "mqtt":
        made = MQTTStore(address, 1)
    yield made
    made.close()
    if store_server is not None:
        store_server.close()


def test_values_are_bytes(store: Store) -> None:
    store.set("text", "grün")
    store.set("bytes", b"\x00\xff")
    assert store.get("text") == "grün".encode() and store.get("bytes") == b"\x00\xff"
    store.set("text", b"")
    assert store.get("text") == b"" and store.check(["text", "bytes"]) and store.check([])
    for key, value in (("k", 3), (3, "v"), (b"k", "v")):
        with pytest.raises(TypeError):
            store.set(key, value)  # type: ignore[arg-type]


def test_counters_and_texts(store: Store) -> None:
    assert [store.add("n", amount) for amount in (7, 0, -9)] == [7, 7, -2]
    assert store.get("n") == b"-2"
    store.set("t", "abcd")
    with pytest.raises(DistStoreError, match=r"t'.*b'abcd'.*not a whole number"):
        store.add("t", 1)
    assert store.get("t") == b"abcd" and store.add("n", 1) == -1  # and the store goes on


def test_compare_set_follows_torch(store: Store) -> None:
    assert store.compare_set("k", "", "one") == b"one"
    assert store.compare_set("k", "one", "two") == b"two"
    assert store.compare_set("k", "one", "three") == b"two"
    assert store.compare_set("absent", "something", "x") == b"something"
    assert not store.check(["absent"])


def test_many_keys(store: Store) -> None:
    store.set("a", "1")
    store.set("b", b"2")
    assert store.multi_get(["b", "a", "b"]) == [b"2", b"1", b"2"]
    assert store.multi_get([]) == []
    assert store.num_keys() == 2 + isinstance(store, FileStore)
    with pytest.raises(DistStoreError, match="3 keys, but 1 values"):
        store.command("set", ["x", "y", "z"], [b"1"], 0)
    assert not store.check(["x"])
    assert store.delete_key("a") and not store.delete_key("a")
    assert store.num_keys() == 1 + isinstance(store, FileStore)


def test_one_text_is_no_list_of_keys(store: Store) -> None:
    for ask in (store.wait, store.check, store.multi_get):
        with pytest.raises(TypeError, match=r"write \['ab'\]"):
            ask("ab")


def test_queues(store: Store) -> None:
    for value in ("1", b"2", "3"):
        store.queue_push("q", value)
    assert store.queue_len("q") == 3 and store.check(["q"])
    assert [store.queue_pop("q"), store.queue_pop("q", block=False)] == [b"1", b"2"]
    store.queue_pop("q")
    assert store.queue_len("q") == 0 and not store.check(["q"])
    assert store.num_keys() == isinstance(store, FileStore)
    with pytest.raises(QueueEmptyError, match="q' is empty"):
        store.queue_pop("q", block=False)


def test_a_timeout_names_what_is_missing_and_what_came(store: Store) -> None:
    store.set("here", "x")
    with pytest.raises(StoreTimeout, match=r"waited 0\.0 s") as caught:
        store.wait(["here", "gone", "lost"], timedelta(milliseconds=10))
    assert [key.rpartition("/")[2] for key in caught.value.missing] == ["gone", "lost"]
    assert [key.rpartition("/")[2] for key in caught.value.present] == ["here"]
    assert caught.value.seconds == 0.01 and issubclass(StoreTimeout, DistStoreError)
    store.set_timeout(timedelta(seconds=0))
    assert store.timeout == timedelta(0)
    for call in (lambda: store.get("gone"), lambda: store.multi_get(["here", "gone"])):
        with pytest.raises(StoreTimeout, match="gone"):
            call()
    with pytest.raises(StoreTimeout, match="q"):
        store.queue_pop("q")
    with pytest.raises(TypeError, match="timeout"):
        store.set_timeout("5")  # type: ignore[arg-type]


def together(*functions: Any) -> list[Any]:
    """Run them at once; their results."""
    results: list[Any] = [None] * len(functions)

    def run(at: int) -> None:
        try:
            results[at] = functions[at]()
        except Exception as error:
            results[at] = error

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return results


def test_who_waits_is_woken(store: Store) -> None:
    waiting = [store for _ in range(4)]
    got = together(
        *(lambda s=s: s.get("late") for s in waiting[:2]),
        lambda: waiting[2].wait(["late", "later"]),
        lambda: waiting[3].queue_pop("q"),
        lambda: (store.set("late", "x"), store.queue_push("q", "y"), store.set("later", "z")),
    )
    assert got[:4] == [b"x", b"x", None, b"y"]


def test_counting_and_popping_are_atomic(store: Store) -> None:
    handles = [store for _ in range(4)]
    together(*(lambda s=s: [s.add("n", 1) for _ in range(50)] for s in handles))
    assert store.get("n") == b"200"
    for value in range(40):
        store.queue_push("q", str(value))
    popped = together(*(lambda s=s: [s.queue_pop("q") for _ in range(10)] for s in handles))
    assert sorted(int(v) for values in popped for v in values) == list(range(40))
    won = together(*(lambda s=s, i=i: s.compare_set("one", "", f"{i}") for i, s in enumerate(handles)))
    assert set(won) == {store.get("one")}


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_the_barrier_serves_again_and_again(store: Store, world_size: int) -> None:
    handles = [store for _ in range(world_size)]

    def rounds(handle: Store) -> list[int]:
        seen = []
        for turn in range(3):
            handle.add("steps", 1)
            handle.barrier("b", world_size)
            seen.append(int(handle.get("steps")) >= (turn + 1) * world_size)
        return seen

    assert together(*(lambda s=s: rounds(s) for s in handles)) == [[True] * 3] * world_size
    with pytest.raises(StoreTimeout, match="alone/complete/0"):
        store.barrier("alone", world_size + 1, timeout=0)


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "x", "7", "-12"])
STEPS = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("add"), st.just("n"), st.integers(-5, 5)),
    st.tuples(st.just("compare_set"), KEYS, VALUES, VALUES),
    st.tuples(st.just("delete_key"), KEYS),
    st.tuples(st.just("queue_push"), st.just("q"), VALUES),
    st.tuples(st.just("queue_pop"), st.just("q"), st.just(False)),
    st.tuples(st.just("queue_len"), st.just("q")),
    st.tuples(st.just("check"), st.lists(st.sampled_from(["a", "b", "n", "q"]))),
    st.tuples(st.just("num_keys")),
    st.tuples(st.just("get"), st.sampled_from(["a", "b", "c", "n"])),
)


@pytest.mark.parity
@given(st.lists(STEPS, max_size=12))
def test_the_same_steps_in_torch(steps: list[tuple[Any, ...]]) -> None:
    dist = pytest.importorskip("torch.distributed")
    ours, theirs = HashStore(timeout=0), dist.HashStore()
    theirs.set_timeout(timedelta(milliseconds=1))

    def outcome(store: Any, name: str, *arguments: Any) -> Any:
        try:
            return getattr(store, name)(*arguments)
        except RuntimeError as error:
            return [c.__name__ for c in type(error).__mro__ if c.__name__ != "StoreTimeout"]

    for step in steps:
        assert outcome(ours, *step) == outcome(theirs, *step), step
    assert ours.num_keys() == theirs.num_keys()


MAKE = {
    "hash": lambda stores, path: stores.HashStore(),
    "tcp": lambda stores, path: stores.TCPStore("localhost", 0, None, True),
    "tcp of one": lambda stores, path: stores.TCPStore("localhost", 0, 1, True),
    "file": lambda stores, path: stores.FileStore(str(path)),
    "file of one": lambda stores, path: stores.FileStore(str(path), 1),
    "file of two": lambda stores, path: stores.FileStore(str(path), 2),
}


def counts_of_keys(stores: Any, kind: str, path: Path) -> list[int]:
    """After 0, 1 and 2 keys, one less again, and through a prefix."""
    store = MAKE[kind](stores, path)
    counts = [store.num_keys()]
    store.set("a", "1")
    counts.append(store.num_keys())
    store.add("n", 1)
    counts.append(store.num_keys())
    store.delete_key("a")
    return [*counts, store.num_keys(), stores.PrefixStore("p", store).num_keys()]


@pytest.mark.parametrize("kind", MAKE)
def test_what_num_keys_counts(kind: str, tmp_path: Path) -> None:
    own = int(kind.startswith("file") or kind == "tcp of one")
    ours = counts_of_keys(distributed, kind, tmp_path / "ours")
    assert ours == [own, own + 1, own + 2, own + 1, own + 1]


def say_counts(name: str, folder: str) -> None:
    """What a process prints that uses the stores of this module."""
    stores = importlib.import_module(name)
    print({kind: counts_of_keys(stores, kind, Path(folder) / kind) for kind in MAKE})


@pytest.mark.parity
def test_num_keys_counts_as_torch_does(tmp_path: Path) -> None:
    pytest.importorskip("torch.distributed")
    program = "import sys; from tests.transports import test_stores as t; t.say_counts(*sys.argv[1:])"
    ours, theirs = [
        subprocess.check_output([sys.executable, "-c", program, name, tempfile.mkdtemp(dir=tmp_path)])
        for name in ("minitorch_dist.distributed", "torch.distributed")
    ]
    assert ours == theirs and ours


def test_both_who_join_count_the_same_keys() -> None:
    master = TCPStore("localhost", 0, 2, True, wait_for_workers=False)
    other = TCPStore("localhost", master.port, 2)
    other.set("a", "1")
    assert master.num_keys() == other.num_keys() == 2
    other.close()
    master.close()
