"""What `init_process_group` and its kin refuse, in torch's order and types, and mostly in its words."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as theirs

import minitorch_dist.distributed as ours

pytestmark = pytest.mark.parity

VARIABLES = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "TORCHELASTIC_RUN_ID"]  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MINITORCH_DIST_KEY", "k" * 32)
    yield
    for dist in (ours, theirs):
        if dist.is_initialized():
            dist.destroy_process_group()


def refusal(act: Callable[[], Any]) -> tuple[str, str]:
    try:
        with warnings.catch_warnings(action="ignore"):
            act()
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]
    return "", "done"


FILE = "file:///nowhere/but/never/opened"
INIT: list[dict[str, Any]] = [
    {},
    {"backend": "gloo"},
    {"backend": "foo"},
    {"backend": 3},
    {"store": "HashStore", "init_method": "env://", "rank": 0, "world_size": 1},
    {"store": "HashStore", "rank": 0},
    {"store": "HashStore", "world_size": 1},
    {"store": "HashStore", "rank": 0, "world_size": 1, "timeout": 30},
    {"store": "HashStore", "rank": 0, "world_size": 1, "backend": "foo"},
    {"store": "HashStore", "rank": 0, "world_size": 1, "backend": "nccl"},
    {"store": "HashStore", "rank": 0, "world_size": 1, "backend": 5, "timeout": 30},
    {"init_method": "env://", "timeout": 30},
    {"init_method": "tcp://localhost"},
    {"init_method": "tcp://localhost:1"},
    {"init_method": "tcp://localhost:1", "rank": 0},
    {"init_method": "tcp://localhost:1?rank=0&world_size=1", "rank": 0, "world_size": 1},
    {"init_method": "tcp://localhost:70000", "rank": 0, "world_size": 1},
    {"init_method": "foo://localhost", "rank": 0, "world_size": 1},
    {"init_method": "file://sharedfile", "rank": 0, "world_size": 1},
    {"init_method": FILE},
    {"init_method": FILE, "world_size": 1},
]
OF_OUR_WORDS: list[dict[str, Any]] = [
    {"store": "HashStore", "rank": 0, "world_size": 1, "device_id": 0},
    {"init_method": 5},
    {"rank": "0"},
]


@pytest.mark.parametrize("arguments", INIT + OF_OUR_WORDS, ids=str)
def test_init_refuses_the_same(arguments: dict[str, Any]) -> None:
    said = []
    for dist in (theirs, ours):
        given = {k: getattr(dist, v)() if k == "store" else v for k, v in arguments.items()}
        said.append(refusal(lambda dist=dist, given=given: dist.init_process_group(**given)))
    assert said[0][0] == said[1][0]
    assert arguments in OF_OUR_WORDS or words(said[1][1])[:6] == words(said[0][1])[:6]
    assert not ours.is_initialized()


def words(text: str) -> list[str]:
    return text.rstrip(".").split()


def test_the_environment_is_asked_for_in_torchs_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """In torch's words, after which ours say how ranks are started."""

    def alike(name: str) -> bool:
        (their_kind, their_text), (kind, text) = (refusal(d.init_process_group) for d in (theirs, ours))
        said = f"variable {name} expected, but not set"
        return their_kind == kind and text.startswith(f"{their_text}. mtdrun") and said in their_text

    for name, value in [("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost")]:
        assert alike(name)
        monkeypatch.setenv(name, "")  # empty counts as not set
        assert alike(name)
        monkeypatch.setenv(name, value)
    assert alike("MASTER_PORT")


BEFORE: list[Callable[[Any], Any]] = [
    lambda dist: dist.get_rank(),
    lambda dist: dist.get_world_size(),
    lambda dist: dist.get_backend(),
    lambda dist: dist.get_process_group_ranks(None),
    lambda dist: dist.destroy_process_group(),
    lambda dist: dist.new_group([0]),
]


@pytest.mark.parametrize("number", range(len(BEFORE)))
def test_before_init(number: int) -> None:
    said = [refusal(lambda dist=dist: BEFORE[number](dist)) for dist in (theirs, ours)]
    assert said[0][0] == said[1][0]
    assert words(said[0][1])[:8] == words(said[1][1])[:8]


def test_asking_without_a_world() -> None:
    for ask in ("is_available", "is_initialized", "is_nccl_available"):
        assert getattr(ours, ask)() == getattr(theirs, ask)(), ask
    assert ours.GroupMember.NON_GROUP_MEMBER == theirs.GroupMember.NON_GROUP_MEMBER
    assert ours.GroupMember.WORLD is theirs.GroupMember.WORLD is None is ours.group.WORLD
    assert ours.default_pg_timeout == theirs.default_pg_timeout
    assert str(ours.Backend("GLOO")) == theirs.Backend("GLOO") == ours.Backend.GLOO
    assert ours.get_default_backend_for_device("cpu") == "gloo"
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM"):
        mine, other = getattr(ours.ReduceOp, op), getattr(theirs.ReduceOp, op)
        assert (str(mine), repr(mine), int(mine)) == (str(other), repr(other), int(other.value))


@pytest.mark.parametrize("backend", ["gloo", None, "cpu:gloo,cuda:gloo", "GLOO"])
def test_a_world_of_one_says_the_same(backend: str | None) -> None:
    said = []
    for dist in (theirs, ours):
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
        said.append(
            (
                dist.is_initialized(),
                dist.get_rank(),
                dist.get_world_size(),
                dist.get_backend(),
                dist.get_process_group_ranks(None),
                dist.group.WORLD.rank(),
                dist.group.WORLD.size(),
                dist.group.WORLD.group_desc,
                isinstance(dist.group.WORLD, dist.ProcessGroup),
                refusal(dist.init_process_group),
            )
        )
        dist.destroy_process_group()
        assert not dist.is_initialized() and dist.group.WORLD is None
    assert said[0] == said[1]


def test_a_rank_that_is_too_large_and_a_port_in_use() -> None:
    for dist in (theirs, ours):
        kind, said = refusal(
            lambda dist=dist: dist.init_process_group(
                "gloo", store=dist.HashStore(), rank=3, world_size=2, timeout=timedelta(seconds=3)
            )
        )
        assert kind == "RuntimeError" and "rank < size. 3 vs 2" in said
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
        url = f"tcp://localhost:{port}"
        kind, said = refusal(lambda: ours.init_process_group("gloo", url, rank=0, world_size=1))
        assert kind == "DistNetworkError" and str(port) in said
