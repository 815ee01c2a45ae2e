"""What is frozen: every collective by every schedule, on every engine, with known inputs.

A rank makes each call twice, so the first call and the repeated one are both held. The values are
fractions of mixed size, so the bits tell the order of addition. Results are kept as digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import journal, world
from minitorch_dist.distributed.journal.run import Journal
from minitorch_dist.distributed.schedules import BUILT_IN
from minitorch_dist.launching import threads
from transports.clock import SYSTEM

SIZES: Final = (1, 2, 3, 5, 8)
DTYPES: Final = (torch.float32, torch.float64, torch.int64, torch.float16, torch.bfloat16)
COUNTS: Final = (0, 1, 7, 1000)
LARGE: Final = 40_000  # elements: half of them is borrowed, and takes several rounds on a board
ODD: Final = 7
DATA: Final = Path(__file__).with_name("frozen.json")

Call = Callable[[], Any]  # gives what it has written


def filled(count: int, dtype: Any, rank: int, salt: int = 0) -> Any:
    """`count` values that only this rank has."""
    numbers = (torch.arange(count) * 40_503 + (rank + 1) * 7_919 + salt * 104_729) % 65_521
    return (numbers.to(torch.float64) / 257.0 - 100.0).to(dtype)


def made(name: str, rank: int, size: int, count: int, dtype: Any, algorithm: Any) -> Iterator[Call]:
    """The calls of one collective: all forms in which torch has it."""

    def own(factor: int = 1) -> Any:
        return filled(count * factor, dtype, rank)

    def several(salt: int = 0) -> list[Any]:
        return [filled(count, dtype, rank, salt + 1 + peer) for peer in range(size)]

    def on(tensors: list[Any], act: Callable[..., Any], *more: Any) -> Any:
        act(*more, algorithm=algorithm)
        return tensors

    def simple(act: Callable[..., Any], *more: Any) -> Any:
        tensor = own()
        act(tensor, *more, algorithm=algorithm)
        return [tensor]

    last = size - 1
    if name == "broadcast":
        yield lambda: simple(dist.broadcast, last)
    elif name == "reduce":
        yield lambda: simple(dist.reduce, 0)
        yield lambda: simple(dist.reduce, last, dist.ReduceOp.AVG if _divides(dtype) else dist.ReduceOp.MAX)
    elif name == "gather":
        yield lambda: on(got := several(), dist.gather, own(), got if rank == last else None, last)
    elif name == "scatter":
        yield lambda: on([out := own()], dist.scatter, out, several() if rank == 0 else None, 0)
    elif name == "all_reduce":
        yield lambda: simple(dist.all_reduce)
        yield lambda: simple(dist.all_reduce, dist.ReduceOp.MIN)
        if _divides(dtype):
            yield lambda: simple(dist.all_reduce, dist.ReduceOp.AVG)
    elif name == "all_gather":
        yield lambda: on(got := several(), dist.all_gather, got, own())
        yield lambda: on([got := own(size)], dist.all_gather_single, got, own())
        yield lambda: _in_place(own(size), rank, count, algorithm)
    elif name == "reduce_scatter":
        yield lambda: on([out := own()], dist.reduce_scatter, out, several())
        yield lambda: on([out := own()], dist.reduce_scatter_single, out, own(size))
    elif name == "all_to_all":
        yield lambda: on(got := several(), dist.all_to_all, got, several(50))
        yield lambda: on([got := own(size)], dist.all_to_all_single, got, filled(count * size, dtype, rank, 9))
    else:
        yield lambda: on([], dist.barrier)


def _divides(dtype: Any) -> bool:
    return dtype in (torch.float32, torch.float64)


def _in_place(whole: Any, rank: int, count: int, algorithm: Any) -> Any:
    dist.all_gather_single(whole, whole[rank * count : (rank + 1) * count], algorithm=algorithm)
    return [whole]


def shapes(extent: str, size: int) -> list[tuple[int, Any]]:
    """What a run of this extent calls each collective with."""
    if extent == "brief":
        return [(ODD, torch.float32)]
    if extent == "large":
        return [(LARGE, torch.float32)]
    counts = [(count, torch.float32) for count in COUNTS]
    if size > 3:
        return counts[::2]
    return counts + [(ODD, dtype) for dtype in DTYPES[1:]]


def names() -> list[tuple[str, str | None]]:
    """All schedules; and each collective by the schedule that is chosen for it."""
    found: list[tuple[str, str | None]] = [(s.collective, s.algorithm) for s in BUILT_IN.values()]
    return found + [(name, None) for name in dict.fromkeys(name for name, _ in found)]


def all_results(extent: str = "all", apart: float = 0.0) -> dict[str, str]:
    """Of one rank: a digest for each schedule. `apart`: seconds that it sleeps before each call."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found: dict[str, str] = {}
    for name, algorithm in names():
        digest = hashlib.blake2b(digest_size=4)
        for count, dtype in shapes(extent, size):
            for call in made(name, rank, size, count, dtype, algorithm):
                for _ in range(2):
                    if apart:
                        world.place().clock.sleep(apart)
                    for tensor in call():
                        digest.update(tensor.array.tobytes())
        found[f"{name} {algorithm or 'chosen'}"] = digest.hexdigest()
    return found


# ---------------------------------------------------------------------------------- the engines


def over_threads(size: int, address: str, extent: str = "all", written: Path | None = None) -> list[dict[str, str]]:
    """Ranks that are threads of this process, over any transport."""
    patience = timedelta(seconds=60)
    return threads.run(partial(all_results, extent), size, address, patience, SYSTEM, written)


def simulated(size: int, engine: str, extent: str = "brief", apart: float = 0.0, written: Path | None = None) -> Any:
    """The report of a run in virtual time."""
    net = sim.uniform("5us", "100Gb/s", "1us")
    return sim.run(all_results, size, (extent, apart), net=net, engine=engine, journal=written)


def columns(results: Sequence[dict[str, str]]) -> dict[str, str]:
    """For each schedule the digests of all ranks, in their order."""
    return {name: " ".join(each[name] for each in results) for name in results[0]}


def of_report(report: Any) -> str:
    """What a simulated run did: its digest, and each rank's times and messages."""
    said = json.dumps([str(report.digest), repr(report.ranks)])
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


def of_journal(run: Journal) -> str:
    """The partial order of a journal: each lane's events; what a message is called joins them."""
    lanes = run.order.lanes
    said = [
        (repr(lane), [repr(run.events[number].content) for number in numbers])
        for lane, numbers in sorted(lanes.items())
    ]
    return hashlib.blake2b(json.dumps(said).encode(), digest_size=8).hexdigest()


# ------------------------------------------------------------------------------- the whole of it


def frozen_results(size: int, folder: Path) -> dict[str, dict[str, str]]:
    """What the engines of the wall clock give."""
    found = {
        "messages": columns(over_threads(size, "queue://")),
        "board": columns(over_threads(size, f"file://{folder}/board-{size}")),
    }
    if size == 2:
        found["lent"] = columns(over_threads(size, "queue://", "large"))
        found["rounds"] = columns(over_threads(size, f"file://{folder}/rounds", "large"))
    return found


def frozen_runs(size: int) -> dict[str, Any]:
    """What the simulated engines give, and when."""
    found: dict[str, Any] = {}
    for label, engine, apart in (
        ("threads", "threads", 0.0),
        ("greenlet", "greenlet", 0.0),
        ("light", "lockstep", 0.0),
        ("closed", "lockstep", 1e-3),
    ):
        report = simulated(size, engine, apart=apart)
        found[label] = [report.engine_used, of_report(report), columns(report.results)]
    return found


def frozen_journals(size: int, folder: Path) -> dict[str, str]:
    """What is written down: the same on all of them. Eight ranks are simulated only."""
    paths = {kind: folder / f"{kind}-{size}.mtd" for kind in ("queue", "file", "sim")}
    if size == 8:
        del paths["queue"], paths["file"]
    else:
        over_threads(size, "queue://", "brief", paths["queue"])
        over_threads(size, f"file://{folder}/journal-{size}", "brief", paths["file"])
    simulated(size, "greenlet", written=paths["sim"])
    return {kind: of_journal(journal.read(path)) for kind, path in paths.items()}


def frozen(size: int, folder: Path) -> dict[str, Any]:
    return {
        "results": frozen_results(size, folder),
        "simulated": frozen_runs(size),
        "journals": frozen_journals(size, folder),
    }


def main() -> None:
    """Write the data anew: `python -m tests.distributed.frozen.program`."""
    with TemporaryDirectory() as folder:
        found = {str(size): frozen(size, Path(folder)) for size in SIZES}
    DATA.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
