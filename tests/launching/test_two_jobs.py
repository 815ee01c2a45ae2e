"""Two jobs at once at one place, started as users start them."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import bootstrap
from minitorch_dist.distributed.elastic.rendezvous import places
from tests.hostile.faults import jobs
from tests.hostile.faults.jobs import OneJob
from tests.launching.agents import QUICK, agents, environment, run, written
from tests.launching.waiting import PATIENCE, until
from tests.ports import free_port
from transports import job
from transports.broker import launch as brokers
from transports.errors import OtherJob


def interleaved(sizes: tuple[int, int], is_swapped: bool) -> list[tuple[int, int]]:
    """One rank of each in turn. Swapped: the first job begins with rank 0, and the second with its last."""
    one = [(0, rank) for rank in range(sizes[0])]
    other = [(1, rank) for rank in range(sizes[1])]
    other = [*reversed(other)] if is_swapped else other
    turns = [pair for pairs in zip(one, other, strict=False) for pair in pairs]
    return [*turns, *one[len(other) :], *other[len(one) :]]


def pair(one: bool, other: bool, size: int, scripts: tuple[str, str]) -> list[OneJob]:
    return [OneJob("a", one, scripts[0], size, 1), OneJob("b", other, scripts[1], size, 100)]


KINDS = {
    "launched": (True, True, ("train.py", "train.py")),
    "one by hand": (True, False, ("train.py", "train.py")),
    "by hand": (False, False, ("train.py", "other.py")),
}
WORLDS = [*(("launched", size) for size in (1, 2, 3, 5)), ("one by hand", 2), ("by hand", 3)]


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize(("kind", "size"), WORLDS)
def test_two_jobs_on_one_port(size: int, is_swapped: bool, kind: str) -> None:
    both = pair(*KINDS[kind][:2], size, KINDS[kind][2])
    order = interleaved((size, size), is_swapped)
    ends = jobs.meet(both, order, [0.0] * len(order), "tcp", f"tcp://127.0.0.1:{free_port()}")
    assert jobs.judge(both, ends) >= 1 or kind != "launched"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_of_each_job_comes_first(kind: str) -> None:
    """These two would make a world, and the other two one after it: all four would end well, with 101."""
    both = pair(*KINDS[kind][:2], 2, KINDS[kind][2])
    order = [(0, 0), (1, 1), (0, 1), (1, 0)]
    ends = jobs.meet(both, order, [0.0, 0.0, inf, 0.0], "tcp", f"tcp://127.0.0.1:{free_port()}")
    assert jobs.judge(both, ends) == 1


@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize(("kind", "size"), WORLDS)
def test_two_jobs_on_one_file(size: int, is_swapped: bool, kind: str, tmp_path: Path) -> None:
    both = pair(*KINDS[kind][:2], size, KINDS[kind][2])
    order = interleaved((size, size), is_swapped)
    ends = jobs.meet(both, order, [0.0] * len(order), "file", f"file://{tmp_path}/store")
    jobs.judge(both, ends)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), WORLDS)
def test_two_jobs_at_one_broker(size: int, kind: str) -> None:
    both = pair(*KINDS[kind][:2], size, KINDS[kind][2])
    order = interleaved((size, size), True)
    with brokers.start() as broker:
        ends = jobs.meet(both, order, [0.0] * len(order), "tcp", f"{broker.address}/name")
    assert jobs.judge(both, ends) == 2 or kind == "by hand"


def test_by_hand_only_a_second_rank_of_a_number_gives_two_jobs_away() -> None:
    """Nothing else can: the script and the size are the same. It is told which process is there."""
    store = dist.HashStore()
    first, second = (f"train.py, started by hand (process {pid})" for pid in (7, 8))
    assert bootstrap.arrive(store, 1, 2, first) == 1
    with pytest.raises(dist.DistStoreError, match="rank 1 is taken") as taken:
        bootstrap.arrive(store, 1, 2, second)
    with pytest.raises(ValueError, match="the same world size") as other:
        bootstrap.arrive(store, 0, 3, second)
    for error in (taken.value, other.value):
        assert f"Rank 1 is here already: {first}. This is {second}" in str(error)
    store.set("left/1/1", b"")
    assert bootstrap.arrive(store, 1, 2, second) == 2  # the first one has left


TRAIN = """
import os, sys
import minitorch_dist as mtd
import minitorch_dist.distributed as dist

value, folder = float(sys.argv[1]), sys.argv[2]
dist.init_process_group("tcp")
open(f"{folder}/{value:g}-{dist.get_rank()}", "w").close()
x = mtd.tensor([value])
dist.all_reduce(x)
print("sum", x.item(), flush=True)
while not os.path.exists(f"{folder}/done"):
    import time; time.sleep(0.02)
dist.destroy_process_group()
"""
SPAWN = """
import os, sys, time
import minitorch_dist as mtd
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp

def train(rank, size, value, folder, port):
    dist.init_process_group("tcp", f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    x = mtd.tensor([value])
    dist.all_reduce(x)
    open(f"{folder}/{value:g}-{rank}", "w").close()
    print("sum", x.item(), flush=True)
    while not os.path.exists(f"{folder}/done"):
        time.sleep(0.02)

if __name__ == "__main__":
    mp.spawn(train, (2, float(sys.argv[1]), sys.argv[2], sys.argv[3]), nprocs=2)
"""


def names_both(text: str, *scripts: str) -> bool:
    words = [f"of {script} with" for script in scripts]
    return all(word in text for word in words) and text.count("launched at") >= 2


@pytest.mark.slow
def test_two_mtdruns_on_one_port(tmp_path: Path) -> None:
    one = written(tmp_path, "one.py", TRAIN)
    other = written(tmp_path, "other.py", TRAIN)
    static = "--nproc-per-node", 2, "--master-port", free_port()
    meeting = "--nproc-per-node", 2, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}"
    with agents() as start:
        for options, value in ((static, 1), (meeting, 3)):
            first = start(*options, one, value, tmp_path)
            until(lambda value=value: len(list(tmp_path.glob(f"{value}-*"))) == 2)  # type: ignore[misc]
            for script in (one, other):
                later = run(*options, script, 100, tmp_path)
                assert later.returncode == 1, later.stdout
                assert "one.py" in later.stderr and script.name in later.stderr
                assert later.stderr.count("launched at") == 2 and "--standalone" in later.stderr
            # A rank that was started by hand does not get in, either.
            by_hand = run(
                1,
                tmp_path,
                module="tests.launching.by_hand",
                variables={
                    "RANK": "1",
                    "WORLD_SIZE": "2",
                    "MASTER_ADDR": "localhost",
                    "MASTER_PORT": str(options[-1]).rpartition(":")[2],
                },
            )
            assert "OtherJob" in by_hand.stderr and "started by hand" in by_hand.stderr
            (tmp_path / "done").touch()
            said, _ = first.communicate(timeout=PATIENCE)
            assert first.returncode == 0 and said.count(f"sum {2.0 * value}") == 2, said
            (tmp_path / "done").unlink()


@pytest.mark.slow
def test_two_programs_that_spawn_on_one_port(tmp_path: Path) -> None:
    """Of whom none but the operating system knows who was first."""
    import subprocess

    port = str(free_port())
    programs = []
    for name, value in (("one.py", 1), ("two.py", 100)):
        command = [sys.executable, str(written(tmp_path, name, SPAWN)), str(value), str(tmp_path), port]
        programs.append(
            subprocess.Popen(command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )
    until(lambda: len(list(tmp_path.glob("1*-*"))) == 2 and any(p.poll() for p in programs))
    (tmp_path / "done").touch()
    said = [program.communicate(timeout=PATIENCE)[0] for program in programs]
    codes = sorted(program.returncode for program in programs)
    assert codes == [0, 1], said
    right, wrong = sorted(said, key=lambda text: "OtherJob" in text)
    assert right.count("sum 2.0") == 2 or right.count("sum 200.0") == 2, right
    assert "sum" not in wrong and "OtherJob" in wrong and names_both(wrong, "one.py", "two.py"), wrong


ID = """
import json, os, sys
from pathlib import Path
from transports import job
restart = os.environ["TORCHELASTIC_RESTART_COUNT"]
said = [job.here(2).id, os.environ["MINITORCH_DIST_GENERATION"], str(job.here(2))]
Path(sys.argv[1], f"{restart}.{os.environ['RANK']}").write_text(json.dumps(said))
if restart == "0":
    import minitorch_dist.distributed as dist
    dist.init_process_group("tcp")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "job7"])
def test_nodes_and_generations_of_one_job_have_one_id(tmp_path: Path, name: str) -> None:
    script = written(tmp_path, "train.py", ID)
    options = ["--nnodes", 2, "--max-restarts", 1, "--rdzv-backend", "c10d", "--rdzv-conf", QUICK,
               "--rdzv-endpoint", f"localhost:{free_port()}"]  # fmt: skip
    options += ["--rdzv-id", name] if name else []
    with agents() as start:
        both = [start(*options, script, tmp_path) for _ in range(2)]
        said = [agent.communicate(timeout=PATIENCE)[0] for agent in both]
        assert [agent.returncode for agent in both] == [0, 0], said
    told = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("?.?"))]
    assert len(told) == 4 and len({id for id, *_ in told}) == 1
    (id,) = {id for id, *_ in told}
    assert [each[1] for each in told] == [f"{id}/0", f"{id}/0", f"{id}/1", f"{id}/1"] != ["/0"] * 4
    assert all(repr(name) in each[2] for each in told) == bool(name)


@pytest.mark.slow
def test_a_node_of_another_script_is_no_second_node(tmp_path: Path) -> None:
    options = [
        "--nnodes",
        2,
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"localhost:{free_port()}",
        "--rdzv-conf",
        QUICK,
    ]
    one, other = (written(tmp_path, name, TRAIN) for name in ("one.py", "other.py"))
    with agents() as start:
        first = start(*options, one, 1, tmp_path)
        until(lambda: "1 of at least 2 nodes" in str(first.stdout and first.stdout.readline()))
        later = run(*options, other, 100, tmp_path)
        assert later.returncode == 1 and "another job has begun" in later.stderr
        assert "one.py" in later.stderr and "other.py" in later.stderr
        second = start(*options, one, 1, tmp_path)
        (tmp_path / "done").touch()
        said = [each.communicate(timeout=PATIENCE)[0] for each in (first, second)]
        assert [each.returncode for each in (first, second)] == [0, 0], said
        assert "".join(said).count("sum 2.0") == 2, said


@pytest.mark.parametrize("keeps", [None, True, False])
def test_an_agent_does_not_wait_at_a_port_of_ranks(keeps: bool | None) -> None:
    """It would go on trying for ten minutes."""
    mine = job.here(value=json.dumps([{**json.loads(job.draw(script="train.py", name="job7"))[0], "by": None}]))
    with contextlib.closing(dist.TCPStore("localhost", 0, is_master=True)) as store:
        place = places.StorePlace("localhost", store.port, keeps)
        with pytest.raises(OtherJob, match=r"started by hand.*job \w+ 'job7' of ") as caught:
            places.meet(place, 600.0, lambda: False, print, mine.among_agents())
    assert "--rdzv-endpoint" in str(caught.value)


def total(value: float) -> tuple[float, str]:
    x = mtd.tensor([value])
    dist.all_reduce(x)
    return float(x.item()), job.here(dist.get_world_size()).id


@pytest.mark.parametrize(
    ("where", "size"),
    [
        *[(where, size) for where in ("queue://", "sim://") for size in (1, 2, 5)],
        pytest.param("tcp://", 2, marks=pytest.mark.slow),
        pytest.param("file://{folder}/same", 2, marks=pytest.mark.slow),
    ],
)
def test_launches_at_once_in_one_process(where: str, size: int, tmp_path: Path) -> None:
    found: dict[int, Any] = {}

    def start(value: int) -> None:
        address = where.format(folder=tmp_path)
        found[value] = mtd.launch(total, size, address, args=(float(value),), timeout=120.0)

    acts: list[Callable[[], None]] = [lambda v=v: start(v) for v in (1, 100)]  # type: ignore[misc]
    threads = [threading.Thread(target=act) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {v: [each[0] for each in result] for v, result in found.items()} == {
        v: [float(v * size)] * size for v in (1, 100)
    }
    ids = {id for result in found.values() for _, id in result}
    assert len(ids) == (1 if where in ("queue://", "sim://") else 2)
    assert not list(tmp_path.iterdir())


def inner(value: float) -> list[Any]:
    return mtd.launch(total, 2, "tcp://", args=(value,), timeout=120.0)


@pytest.mark.slow
def test_a_rank_that_launches_a_job_draws_another_id() -> None:
    found = mtd.launch(inner, 2, "tcp://", args=(3.0,), timeout=240.0)
    assert [[each[0] for each in result] for result in found] == [[6.0, 6.0]] * 2
    assert len({each[1] for result in found for each in result}) == 2
