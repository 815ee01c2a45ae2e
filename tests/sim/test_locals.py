"""`threading.local` belongs to a rank of a simulation, or to a thread of it, whichever engine runs them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import local as taken_out
from typing import Any

import pytest

from minitorch_dist import distributed as dist, sim
from minitorch_dist.launching.replacements import Outside

both = pytest.mark.parametrize("engine", ["threads", "greenlet"])
sizes = pytest.mark.parametrize("size", [1, 2, 3, 5])


class Plain(threading.local):
    kept = 5

    def __init__(self) -> None:
        self.seen: list[int] = []

    @property
    def count(self) -> int:
        return len(self.seen)


class WithArguments(threading.local):
    def __init__(self, depth: int = 0) -> None:
        self.depth = depth


AT_MODULE, LISTED = threading.local(), [threading.local()]


def use(held: Any) -> tuple[bool, int, dict[str, int]]:
    """Others write to it between what this rank writes and what it reads."""
    had = hasattr(held, "mine")
    held.mine = held.other = dist.get_rank()
    sim.compute("1us")
    dist.barrier()
    del held.other
    return had, held.mine, dict(vars(held))


@both
@sizes
@pytest.mark.parametrize("where", ["of the module", "in a list", "of the closure"])
def test_each_rank_has_its_own_attributes(where: str, size: int, engine: str) -> None:
    in_closure = threading.local()
    in_closure.mine = AT_MODULE.mine = LISTED[0].mine = "the caller's"

    def program() -> Any:
        found = {"of the module": AT_MODULE, "in a list": LISTED[0], "of the closure": in_closure}
        assert isinstance(found[where], threading.local)
        return use(found[where])

    results = sim.run(program, size, engine=engine).results
    assert results == [(False, rank, {"mine": rank}) for rank in range(size)]
    for held in (in_closure, AT_MODULE, LISTED[0]):
        assert vars(held) == {"mine": "the caller's"}, "it is as it was"


@dataclass
class Holder:
    held: Any = field(default_factory=threading.local)


MADE: defaultdict[str, Any] = defaultdict(threading.local)
WAYS: dict[str, Callable[[], Any]] = {
    "by its name": lambda: taken_out(),
    "of its module": lambda: threading.local(),
    "of a field": lambda: Holder().held,
    "of a dictionary": lambda: MADE["new"],
}


@both
@pytest.mark.parametrize("way", WAYS)
def test_one_that_is_made_on_the_way_and_threads_of_a_rank(way: str, engine: str) -> None:
    kept: list[Any] = []
    MADE.clear()

    def program() -> list[Any]:
        if dist.get_rank() == 0:
            kept.append(WAYS[way]())
        dist.barrier()
        found = [use(kept[0])[:2]]
        thread = sim.start(lambda: found.append(hasattr(kept[0], "mine")), "helper")
        thread.join()
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            assert kept[0].nothing
        with pytest.raises(AttributeError):
            del kept[0].nothing
        with pytest.raises(TypeError):
            threading.local(1)  # type: ignore[call-arg]
        return found

    assert sim.run(program, 3, engine=engine).results == [[(False, r), False] for r in range(3)]
    assert not hasattr(kept[0], "mine")
    kept[0].mine = 1
    assert MADE.default_factory is threading.local
    assert vars(kept[0]) == {"mine": 1}


@both
def test_a_class_that_is_made_on_the_way(engine: str) -> None:
    def program() -> Any:
        class Mine(threading.local):
            def __init__(self, start: int) -> None:
                self.at = start

            def __getattr__(self, name: str) -> str:
                return f"no {name}"

        made = Mine(7)
        made.at += dist.get_rank()
        found: list[int] = []
        thread = sim.start(lambda: found.append(made.at), "helper")
        thread.join()
        return found, made.at, made.nothing

    results = sim.run(program, 3, engine=engine).results
    assert results == [([7], 7 + rank, "no nothing") for rank in range(3)]


@both
@pytest.mark.parametrize("kind", [Plain, WithArguments])
def test_a_class_that_was_made_before_is_refused_by_name(kind: Any, engine: str) -> None:
    before, held = dict(vars(kind)), kind()

    def use_it() -> None:
        held.depth = 1

    words = rf"rank 0 used {kind.__name__}, a threading.local at test_locals"
    for program in (use_it, lambda: held.depth, lambda: kind()):
        with pytest.raises(Outside, match=words):
            sim.run(program, 2, engine=engine)
    held.depth = 5
    assert held.depth == 5 and dict(vars(kind)) == before


@both
def test_threads_outside_keep_their_own_while_a_run_lasts(engine: str) -> None:
    plain = Plain()
    plain.seen = [1]
    AT_MODULE.mine = "outside"
    go, come = threading.Event(), threading.Event()
    found: list[Any] = []

    def outside() -> None:
        AT_MODULE.mine, plain.seen = "thread", [2]
        come.set()
        assert go.wait(60)
        found.append((AT_MODULE.mine, plain.seen))

    def program() -> Any:
        AT_MODULE.mine = dist.get_rank()
        dist.barrier()
        go.set()
        return AT_MODULE.mine

    thread = threading.Thread(target=outside)
    thread.start()
    assert come.wait(60)
    assert sim.run(program, 2, engine=engine).results == [0, 1]
    thread.join()
    assert found == [("thread", [2])]
    assert (AT_MODULE.mine, plain.seen) == ("outside", [1])
