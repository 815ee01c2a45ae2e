"""Loaders with worker processes: order, seeds, failures, deaths, and what they leave behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import random
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from minitorch_dist.utils.data.worker import packed, receive

pytestmark = [pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")]


class Numbers(Dataset[Any]):
    """Sample i is a tensor full of i, its number, and the worker that made it."""

    def __init__(self, n: int, shape: tuple[int, ...] = (2, 3)) -> None:
        self.n, self.shape = n, shape

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        return mtd.from_numpy(np.full(self.shape, i, np.float32)), i, info.id if info else -1


class Stream(IterableDataset[int]):
    def __init__(self, n: int, share: bool = True) -> None:
        self.n, self.share = n, share

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        if info is None or not self.share:
            return iter(range(self.n))
        return iter(range(info.id, self.n, info.num_workers))


class Failing(Dataset[int]):
    def __init__(self, error: Any, at: int = 3) -> None:
        self.error, self.at = error, at

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> int:
        if i == self.at:
            if isinstance(self.error, int):
                os.kill(os.getpid(), self.error)
            if self.error is SystemExit:
                os._exit(3)
            if self.error is TimeoutError:
                signal.pause()
            raise self.error
        return i


class Own(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


class Seeds(Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        assert info is not None and info.dataset is self
        return [info.seed, int(mtd.initial_seed()), random.random(), float(np.random.rand())]


def lists(loader: Any) -> list[Any]:
    return [batch[1].tolist() for batch in loader]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("prefetch", [1, 2, 5])
def test_the_order_is_that_of_one_process(workers: int, prefetch: int) -> None:
    data = Numbers(23)
    alone = list(DataLoader(data, 4))
    shared = list(DataLoader(data, 4, num_workers=workers, prefetch_factor=prefetch))
    assert len(alone) == len(shared)
    for a, b in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(a[0].array, b[0].array)
        assert a[1].tolist() == b[1].tolist() and b[0].array.flags.writeable
    assert [b[2][0].item() for b in shared] == [i % workers for i in range(6)]


def test_large_and_many_batches_travel_whole() -> None:
    data = Numbers(6, (300, 400))  # 480 kB each
    loader = DataLoader(data, 2, num_workers=2)
    for number, (images, _, _) in enumerate(loader):
        assert images.shape == (2, 300, 400)
        assert images.array[0].min() == images.array[0].max() == 2 * number
    wide = DataLoader(range(120_000), 60_000, num_workers=1)  # type: ignore[arg-type]
    assert [int(batch[-1]) for batch in wide] == [59_999, 119_999]  # tasks larger than a pipe


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.slow
def test_other_start_methods(method: str) -> None:
    loader = DataLoader(Numbers(9), 2, num_workers=2, multiprocessing_context=method)
    assert lists(loader) == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert loader.multiprocessing_context is multiprocessing.get_context(method)
    if method == "forkserver":
        from multiprocessing import forkserver

        forkserver._forkserver._stop()  # type: ignore[attr-defined]
    from multiprocessing import resource_tracker

    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def _load_inside(loader: Any, answer: Any) -> None:
    answer.send(lists(loader))
    answer.close()


@pytest.mark.slow
def test_a_loader_is_handed_to_a_spawned_process() -> None:
    """T19: under spawn the loader, with its dataset, is pickled."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=_load_inside, args=(DataLoader(Numbers(5), 2, num_workers=2), its))
    process.start()
    its.close()
    assert ours.recv() == [[0, 1], [2, 3], [4]]
    process.join()
    ours.close()
    process.close()
    from multiprocessing import resource_tracker

    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_stream_is_shared_by_who_asks_which_worker_it_is(workers: int) -> None:
    loader = DataLoader(Stream(11), 2, num_workers=workers)
    assert sorted(i for batch in loader for i in batch.tolist()) == list(range(11))


def test_a_stream_that_does_not_ask_is_repeated() -> None:
    loader = DataLoader(Stream(5, share=False), 2, num_workers=2)
    assert [b.tolist() for b in loader] == [[0, 1], [0, 1], [2, 3], [2, 3], [4], [4]]
    dropped = DataLoader(Stream(5, share=False), 2, num_workers=2, drop_last=True)
    assert [b.tolist() for b in dropped] == [[0, 1], [0, 1], [2, 3], [2, 3]]


# ---------------------------------------------------------------------------------------- epochs


@pytest.mark.parametrize("data", [Numbers(9), Stream(9)])
def test_each_epoch_has_workers_of_its_own(data: Any) -> None:
    """Also for a program that asks for workers that stay: its batches are the same."""
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True)

    def numbers(passed: Any) -> list[int]:
        return sorted(i for b in passed for i in (b[1] if isinstance(b, list) else b).tolist())

    assert numbers(loader) == list(range(9))
    first = iter(loader)
    next(first)
    assert numbers(loader) == list(range(9))  # beside a pass that was left half-way
    assert all(p.is_alive() for p in first._pool.processes)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------------------------- seeding


def test_every_worker_has_a_seed_of_its_own() -> None:
    mtd.manual_seed(3)
    loader = DataLoader(Seeds(), None, num_workers=2)
    first, second = list(loader), list(loader)
    mtd.manual_seed(3)
    assert list(loader) == first != second
    seeds = [sample[0] for sample in first]
    assert seeds[1] == seeds[0] + 1 and seeds[2:] == seeds[:2]
    assert [sample[1] for sample in first] == seeds
    assert len({sample[2] for sample in first}) == len({sample[3] for sample in first}) == 4
    own = DataLoader(Seeds(), None, num_workers=2, generator=mtd.Generator().manual_seed(1))
    again = DataLoader(Seeds(), None, num_workers=2, generator=mtd.Generator().manual_seed(1))
    assert list(own) == list(again)


def _mark(worker: int) -> None:
    os.environ["MARK"] = f"w{worker}"


class Marks(Numbers):
    def __getitem__(self, i: int) -> Any:
        return os.environ.get("MARK", "-")


def test_worker_init_fn_runs_in_the_worker() -> None:
    assert list(DataLoader(Marks(3), None, num_workers=2, worker_init_fn=_mark)) == ["w0", "w1", "w0"]
    assert "MARK" not in os.environ and get_worker_info() is None


def _refuse(worker: int) -> None:
    raise KeyError(f"no {worker}")


# --------------------------------------------------------------------------------------- failures

ERRORS = [ValueError("odd"), KeyError("k"), IndexError("i"), ZeroDivisionError(), OSError(2, "gone")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_exception_keeps_its_type_and_shows_its_traceback(error: Exception) -> None:
    passed = iter(DataLoader(Failing(error), 1, num_workers=2))
    assert [next(passed).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(type(error)) as caught:
        next(passed)
    assert str(caught.value) == str(error)
    (text,) = caught.value.__notes__
    assert text.startswith("in worker process 1 of a DataLoader\nTraceback (most recent call last):\n")
    assert "in __getitem__" in text and "raise self.error" in text
    assert [batch.item() for batch in passed] == [4, 5, 6, 7]  # the others are not lost


def test_exceptions_that_cannot_be_made_again() -> None:
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match=r"(?s)cannot be unpickled here.*Local: x"):
        list(DataLoader(Failing(Local("x")), num_workers=1))
    for error in Own(1, 2), UnicodeDecodeError("utf8", b"x", 0, 1, "bad"):
        with pytest.raises(type(error)) as kept:
            list(DataLoader(Failing(error), num_workers=1))
        assert kept.value.args == error.args
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Failing(StopIteration()), num_workers=1))
    with pytest.raises(KeyError) as caught:
        list(DataLoader(Numbers(4), num_workers=1, worker_init_fn=_refuse))
    assert "worker process 0 of a DataLoader" in caught.value.__notes__[0]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        list(DataLoader(Numbers(4), num_workers=1, collate_fn=lambda batch: lambda: batch))


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "Killed"), (signal.SIGUSR1, "User defined signal 1"), (signal.SIGTERM, "Termin")],
)
def test_a_killed_worker_is_named_with_its_signal(number: int, words: str) -> None:
    passed = iter(DataLoader(Failing(int(number)), num_workers=2))
    pid = passed._pool.processes[1].pid  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match=rf"worker \(pid {pid}\) is killed by signal: {words}"):
        list(passed)


def test_a_worker_that_exits_is_named_with_its_code() -> None:
    with pytest.raises(RuntimeError, match=r"pid\(s\) \d+\) exited unexpectedly with exit code 3"):
        list(DataLoader(Failing(SystemExit), num_workers=2))


def test_an_idle_worker_that_is_killed_is_noticed() -> None:
    passed = iter(DataLoader(Numbers(40), num_workers=1))
    next(passed)
    process = passed._pool.processes[0]  # type: ignore[attr-defined]
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    with pytest.raises(RuntimeError, match="is killed by signal: Killed"):
        list(passed)


def test_a_slow_worker_is_not_waited_for_longer_than_asked() -> None:
    passed = iter(DataLoader(Failing(TimeoutError, at=1), num_workers=1, timeout=0.05))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.05 seconds"):
        list(passed)
    passed._pool.processes[0].terminate()  # type: ignore[attr-defined]


def test_a_worker_has_no_workers() -> None:
    class Nested(Numbers):
        def __getitem__(self, i: int) -> Any:
            return lists(DataLoader(Numbers(2), num_workers=1))

    with pytest.raises(AssertionError, match="daemonic processes are not allowed to have children"):
        list(DataLoader(Nested(2), None, num_workers=1))


# ----------------------------------------------------------------------------- nothing left behind


def test_half_a_pass_leaves_nothing() -> None:
    passed = iter(DataLoader(Numbers(50, (200, 200)), 4, num_workers=2))
    next(passed)
    processes = list(passed._pool.processes)  # type: ignore[attr-defined]
    pids = [p.pid for p in processes]
    assert all(p.is_alive() for p in processes)
    del passed
    assert not any(_exists(pid) for pid in pids)


def test_two_passes_at_once_do_not_keep_each_other_alive() -> None:
    loader = DataLoader(Numbers(40, (300, 300)), 4, num_workers=1)
    first, second = iter(loader), iter(loader)
    assert lists([next(first)]) == lists([next(second)])
    pids = [p.pid for p in first._pool.processes]  # type: ignore[attr-defined]
    del first
    assert not any(_exists(pid) for pid in pids)
    assert len(lists(second)) == 9


def _exists(pid: int | None) -> bool:
    return Path(f"/proc/{pid}").exists() if Path("/proc").is_dir() else False


SCRIPT = """
import signal
import numpy as np
from minitorch_dist.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): return np.zeros((100, 100))
if __name__ == "__main__":
    passed = iter(DataLoader(Slow(), 4, num_workers=2))
    next(passed)
    print(*[p.pid for p in passed._pool.processes], flush=True)
    while True: signal.pause()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes by descriptor")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(number: int, tmp_path: Path) -> None:
    """Ctrl-C, and a parent that is killed without a chance to tidy up."""
    script = tmp_path / "load.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        ends = [os.pidfd_open(pid) for pid in pids]
        assert len(ends) == 2
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        process.wait()
        for end in ends:
            assert select.select([end], [], [], 20)[0], "a worker has outlived its parent"
            os.close(end)


# --------------------------------------------------------------------------------------- messages


def test_messages_are_taken_apart_and_put_together() -> None:
    ours, its = multiprocessing.Pipe(duplex=False)
    big = np.arange(5000.0)
    content = [mtd.from_numpy(big), big[::2], np.asfortranarray(big.reshape(50, 100)), "x", big[:3]]
    message = packed(((1, 2, "batch"), content))
    assert len(message) == 4  # sizes, pickle, the two large arrays that lie in one piece
    big[:] = 0  # the dataset goes on with its array
    sender = threading.Thread(target=lambda: [its.send_bytes(piece) for piece in message])
    sender.start()
    head, data = receive(ours)
    sender.join()
    assert head == (1, 2, "batch")
    assert data[0].array[-1] == 4999 and data[1][-1] == 4998 and data[2][1, 0] == 100
    assert data[2].flags.f_contiguous and data[3] == "x" and data[4].tolist() == [0, 1, 2]
    ours.close()
    its.close()
