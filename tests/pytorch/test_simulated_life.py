"""The odd life of programs on simulated ranks: workers, threads, forks, clocks, ranks that are started again."""

from __future__ import annotations

import gc
import os
import threading
import time
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from minitorch_dist import sim
from minitorch_dist.launching.callers import Outside
from tests.pytorch import test_odd_life as real
from tests.pytorch.ranks import on_ranks
from transports.errors import Deadlock

# ---------------------------------------------------------------------------------------- workers


def _loads(method: str, workers: int) -> list[float]:
    dist.init_process_group("gloo")
    return real.load(method, workers)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader_give_what_they_give_over_gloo(method: str) -> None:
    size, workers = (2, 2) if method == "fork" else (1, 1)
    runs = [sim.run(_loads, size, (method, workers)) for _ in range(2 if method == "fork" else 1)]
    assert runs[0].results == on_ranks(real.load, size, "fork", workers, backend="gloo")
    assert {run.digest for run in runs} == {runs[0].digest}
    assert not mp.active_children()


class Stream(IterableDataset[Any]):
    """Each worker of each rank has a part of it, as it asks who it is."""

    def __iter__(self) -> Any:
        info = get_worker_info()
        assert info is not None and os.environ["RANK"] == str(dist.get_rank())
        time.sleep(0.001)  # in real time
        me, all_of_them = (dist.get_rank() * info.num_workers + info.id, dist.get_world_size() * info.num_workers)
        return iter(range(me, 40, all_of_them))


def _streams() -> float:
    dist.init_process_group("nccl")
    total = torch.zeros(1)
    for batch in DataLoader(Stream(), batch_size=3, num_workers=2, multiprocessing_context="fork"):
        total += batch.sum()
    dist.all_reduce(total)
    return float(total)


def test_a_worker_knows_its_rank_and_lives_in_real_time() -> None:
    report = sim.run(_streams, 2)
    assert report.results == [780.0] * 2 and report.time < 10**8  # picoseconds


def _fails(batch: Any) -> None:
    raise KeyError("of the worker")


def _dies(batch: Any) -> None:
    os._exit(3)


@pytest.mark.parametrize(("collate", "words"), [(_fails, "of the worker"), (_dies, "exited unexpectedly")])
def test_a_worker_that_fails_is_told(collate: Any, words: str) -> None:
    def program() -> None:
        for _ in DataLoader([1, 2], num_workers=1, collate_fn=collate, multiprocessing_context="fork"):
            pass

    with pytest.raises((KeyError, RuntimeError), match=words):
        sim.run(program, 1)
    assert not mp.active_children()


# ----------------------------------------------------------------------------- ranks and processes


def _as_rank(rank: int, size: int, found: list[Any]) -> None:
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("gloo", rank=rank, world_size=size)
    found.append((dist.get_rank(), real._sum(rank)))
    dist.destroy_process_group()


@pytest.mark.parametrize("start", ["spawn", "start_processes"])
def test_ranks_that_a_program_would_spawn_are_those_of_the_run(start: str) -> None:
    def program(count: int) -> list[Any]:
        found: list[Any] = []
        joined = getattr(mp, start)(_as_rank, args=(count, found), nprocs=count, join=False)
        assert joined.join()
        return found

    assert sim.run(program, 3, (3,)).results == [[(rank, 3.0)] for rank in range(3)]
    with pytest.raises(ValueError, match=r"is to start 2 ranks, and this run has 3 already.* mtd run --ranks 2"):
        sim.run(program, 3, (2,))


def _process() -> None:
    mp.Process(target=print).start()


def _fork() -> None:
    os.fork()


def _thread() -> None:
    threading.Thread(target=print).start()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (_process, "the run has started all ranks, so call its function with this rank"),
        (_fork, "the child would be a copy of all ranks"),
        (_thread, r"a real thread has no place in virtual time. Use sim.start\(function\), async_op=True"),
    ],
)
def test_what_lives_in_real_time_is_refused_in_words(program: Any, words: str) -> None:
    def with_torch() -> None:
        dist.init_process_group()
        program()

    with pytest.raises(Outside, match=words):
        sim.run(with_torch, 2)


# ---------------------------------------------------------------------------- programs without care


def _careless() -> list[Any]:
    """It reads clocks, seeds nothing, and never says that it has ended."""
    begin, now = time.perf_counter(), time.time()
    dist.init_process_group("gloo")
    model = torch.nn.Linear(4, 4)
    dist.broadcast(next(model.parameters()).data, 0)
    return [real._sum(float(torch.rand(1))), time.perf_counter() - begin, time.time() - now]


def test_a_careless_program_is_the_same_each_time() -> None:
    runs = [sim.run(_careless, 3, seed=seed) for seed in (7, 7, 8)]
    assert runs[0].results == runs[1].results and runs[0].results != runs[2].results
    assert all(passed > 0 for _, *clocks in runs[0].results for passed in clocks)


def _raises() -> None:
    dist.init_process_group("gloo")
    if dist.get_rank() == 1:
        raise KeyError("of the program")
    dist.barrier()


def test_the_error_of_one_rank_is_that_of_the_run() -> None:
    with pytest.raises(KeyError, match="of the program") as failed:
        sim.run(_raises, 3)
    assert "(in rank 1 of 3, a thread over sim://)" in failed.value.__notes__


def _two_groups() -> list[float]:
    dist.init_process_group("nccl")
    return real._two_groups()


def test_two_groups_are_in_flight_at_once() -> None:
    assert sim.run(_two_groups, 2).results == [[3.0, 21.0]] * 2


def _splits() -> list[Any]:
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    part = dist.split_group(split_ranks=[[0, 2], [1]])
    if part is None:
        return []
    return [part.size(), dist.get_group_rank(part, rank), real._sum(float(rank), part)]


def test_split_group() -> None:
    assert sim.run(_splits, 4).results == [[2, 0, 2.0], [1, 0, 1.0], [2, 1, 2.0], []]


def _asks_the_store(store: Any) -> list[Any]:
    """Each method, as a program may call it."""
    store.set("a", "1")
    store.set("b", b"2")
    store.wait(["a", "b"])
    store.wait(["a"], timedelta(seconds=5))
    found = [store.get("a"), store.add("n", 3), store.add("n", 4), store.check(["a", "never"]), store.check(["b"])]
    found += [store.compare_set("c", "", "new"), store.compare_set("c", "new", "newer"), store.get("c")]
    store.multi_set(["x", "y"], ["7", "8"])
    found += [store.multi_get(["x", "y"]), store.delete_key("x"), store.check(["x"]), store.num_keys() > 3]
    return [*found, store.clone().get("y")]


def _store_of_the_world() -> list[Any]:
    dist.init_process_group("gloo")
    store = dist.distributed_c10d._get_default_store()
    gc.collect()  # torch keeps the part in C++ alone
    return _asks_the_store(dist.PrefixStore(f"rank {dist.get_rank()}", store))


def test_the_store_answers_as_torchs() -> None:
    wanted = _asks_the_store(dist.PrefixStore("rank 0", dist.HashStore()))
    assert sim.run(_store_of_the_world, 3).results == [wanted] * 3


def _waits_for_nobody() -> None:
    dist.init_process_group("gloo")
    dist.distributed_c10d._get_default_store().wait(["never"])


def test_a_wait_for_a_key_that_nobody_sets_is_named() -> None:
    with pytest.raises(Deadlock, match=r"waits for the key '[^']*never' of a store, at test_simulated_life.py"):
        sim.run(_waits_for_nobody, 2)


def _calls() -> None:
    torch.distributed.rpc.init_rpc(f"worker{dist.get_rank()}", rank=0, world_size=1)


def test_rpc_of_pytorch_is_refused_in_words() -> None:
    def program() -> None:
        dist.init_process_group("gloo")
        _calls()

    with pytest.raises(NotImplementedError, match=r"TensorPipe.*mtd run --net tcp"):
        sim.run(program, 2)


WRITER = """
import queue
import threading


class Writer:
    def __init__(self):
        self.queue, self.written = queue.Queue(2), []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while (text := self.queue.get()) is not None:
            self.written.append(text)
            self.queue.task_done()

    def write(self, text):
        self.queue.put(text)

    def close(self):
        self.queue.join()
        self.queue.put(None)
        self.thread.join()
"""


def test_a_writer_of_tensorboard_waits_for_its_own_thread() -> None:
    """A stand-in of its class, by the name of a module of its package."""
    module = ModuleType("tensorboard.writer_of_a_test")
    exec(WRITER, vars(module))

    def program() -> list[str]:
        dist.init_process_group("gloo")
        writer = module.Writer()
        for number in range(5):
            writer.write(f"{dist.get_rank()} {number}")
            dist.barrier()
        writer.close()
        return list(writer.written)

    assert sim.run(program, 2).results == [[f"{rank} {number}" for number in range(5)] for rank in range(2)]
