"""What is frozen: simulated runs on all kinds of networks, with faults, hardships, devices, shapes, timelines and folding.

`frozen/frozen.json` of the collectives (see `tests.distributed.frozen`) holds each schedule on one network. Here
each matter that attaches to a run is held by some programs. Of a run the digest is kept of all that its report says.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed.schedules import BUILT_IN
from tests.sim import test_timelines as programs
from tests.sim.programs import collective

SIZES: Final = (1, 2, 3, 5, 8)
DATA: Final = Path(__file__).with_name("frozen.json")
LINK, FAR = sim.link("2us", "100Gb/s", "300ns"), sim.link("7us", "25Gb/s")
NAMES: Final = tuple(dict.fromkeys(schedule.collective for schedule in BUILT_IN.values()))


def nets(size: int) -> dict[str, Any]:
    rows = [[FAR if (a + b) % 3 == 1 else LINK for b in range(size)] for a in range(size)]
    two = sim.two_level(4, 2, LINK, FAR)
    return {
        "uniform": sim.uniform("2us", "100Gb/s", "300ns"),
        "loggp": sim.LogGP("1us", "0.5us", "0.6us", "25GB/s"),
        "two levels": two,
        "one card": sim.two_level(4, 2, LINK, FAR, nic="per_node"),
        "card beside": sim.two_level(4, 2, LINK, FAR, nic="beside"),
        "matrix": sim.matrix(rows),
        "mesh": sim.mesh((2, 4), LINK),
        "torus": sim.torus((size,), LINK),
        "fat tree": sim.fat_tree(4, 2, 2, LINK, FAR),
        "rails": sim.rails(4, 2, LINK, FAR),
        "rails with spines": sim.rails(4, 2, LINK, FAR, 2),
        "dragonfly": sim.dragonfly(4, 2, 1, 2, LINK, FAR),
        "rendezvous": sim.Network(two, rendezvous=0),
        "window": sim.Network(two, window=64),
    }


def all_collectives(algorithms: Mapping[str, Any] | None = None, count: int = 37) -> list[Any]:
    """Each of them, begun at uneven instants."""
    size = dist.get_world_size()
    entries = [(rank * 7919) % 13 * 1_000_000 for rank in range(size)]
    return [collective(name, (algorithms or {}).get(name), count, entries) for name in NAMES]


def traffic(turns: int = 2) -> list[float]:
    """Messages by name and from anybody, objects, groups, helpers, and asking whether something is over."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, came = torch.full((7,), float(rank + 1)), 0.0
    for _ in range(turns):
        sim.compute((1 + rank) * 3e-6)
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
        dist.broadcast(x, size - 1)
        sim.mark("turn")
    if rank == 0:
        for number in range(size - 1):
            y = torch.zeros(1)
            dist.recv(y)
            came += (number + 1) * float(y.item())
    else:
        dist.isend(torch.full((1,), float(rank)), 0).wait()  # type: ignore[union-attr]
    work: Any = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        sim.compute("1us")
    said: list[Any] = [None] * size
    dist.all_gather_object(said, {"rank": rank})
    halves = dist.new_group(list(range(0, size, 2)))
    if rank % 2 == 0:
        dist.all_reduce(x, group=halves)
    return [float(x[0].item()), came, sim.now()]


def wrong() -> None:
    """Rank 0 takes for granted who comes first, and that all come to the end."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        came = [dist.recv(torch.zeros(1)) for _ in range(size - 1)]
        assert came == sorted(came), f"rank {came[0]} came first"
    else:
        sim.compute(rank * 1e-5)
        dist.send(torch.ones(1), 0)
    dist.barrier()


def stuck() -> None:
    x = torch.ones(3)
    if dist.get_rank() % 2:
        dist.all_reduce(x)
    else:
        dist.broadcast(x, 0)


def step() -> float:
    """A step of training with a device's times."""
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)).to("cuda")
    programs.step(nn.Sequential(nn.Linear(512, 16, device="cuda")))
    sim.compute(flops=1e9)
    return float(sim.value(model(torch.ones(4, 32, device="cuda")).sum(), 0.0))


# ----------------------------------------------------------------------------------- what is held


def of_report(report: Any) -> str:
    """A digest of all that a report says but for the engine's name."""
    said = [
        str(report).replace(f"engine {report.engine_used}", ""),
        report.digest,
        report.switches,
        repr(report.ranks),
        repr(report.results),
        [[repr(each.device), repr(each.marks)] for each in report.ranks],
    ]
    if report.timelines is not None:
        path = report.timelines.critical_path
        lines = [[repr(x.spans()), repr(x.collectives), repr(x.memory)] for x in report.timelines.ranks]
        said += [str(report.timelines), repr(report.timelines.roles), repr(path), lines]
    return hashlib.blake2b(json.dumps(said).encode(), digest_size=6).hexdigest()


def of_run(program: Callable[..., Any], size: int, *args: Any, **options: Any) -> str:
    try:
        return of_report(sim.run(program, size, args, **options))
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0][:120]


def frozen_nets(size: int) -> dict[str, str]:
    found = {}
    for name, net in nets(size).items():
        for engine in ("auto", "lockstep"):
            found[f"{name}, {engine}"] = of_run(all_collectives, size, net=net, engine=engine)
        found[f"{name}, traffic"] = of_run(traffic, size, net=net)
    for engine in ("threads", "greenlet", "lockstep"):
        found[f"additions, {engine}"] = of_run(
            all_collectives, size, net=nets(size)["uniform"], engine=engine, adding="8GB/s"
        )
    return found


def frozen_faults(size: int) -> dict[str, str]:
    net = nets(size)["two levels"]
    found = {letter: of_run(traffic, size, net=net, seed=3, hardships=letter) for letter in "ojrwahgls"}
    for fault in ("drop", "delay", "duplicate", "reorder", "jitter"):
        words = f"{fault}=0.2" + ",9us" * (fault in ("delay", "reorder", "jitter"))
        found[fault] = of_run(traffic, size, net=net, seed=5, faults=[words])
    found["slow"] = of_run(traffic, size, net=net, faults=[sim.slow(0, 3)])
    found["speeds"] = of_run(traffic, size, net=net, speeds={0: 0.5, size - 1: 2.0}, seed=9)
    found["stuck"] = of_run(stuck, size, net=net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failure = sim.explore(wrong, size, seeds=20)
        found["explore"] = "nothing"
        if failure is not None:
            small = failure.minimise()
            found["explore"] = " ".join([failure.replay_token, small.replay_token])
    if size <= 3:
        found["exhaust"] = str(sim.exhaust(wrong, size))
        found["survey"] = str(sim.survey(traffic, size, seeds=6, faults=sim.chaos()))
    return found


def frozen_devices(size: int) -> dict[str, str]:
    net = programs.NET
    gpu, mixed = sim.gpu("h100"), [sim.gpu("h100"), sim.gpu("a100-80")]
    found = {
        "step": of_run(step, size, device=gpu, net=net, flops="10T"),
        "devices": of_run(step, size, device=lambda r: mixed[r % 2], net=net, shapes=True),
        "memory": of_run(step, size, memory="1MB", flops="10T"),
        "contention": of_run(
            programs.data_parallel, size, device=sim.gpu("h100", contention=1.5), net=net, shapes=True
        ),
    }
    for program in (programs.data_parallel, programs.sharded, programs.pipeline):
        for shapes in (False, True):
            found[f"{program.__name__}, shapes {shapes}"] = of_run(
                program, size, device=gpu, net=net, shapes=shapes, timelines=True
            )
        found[f"{program.__name__}, folded"] = of_run(
            program, size, device=gpu, net=net, shapes=True, timelines=True, fold=True
        )
        found[f"{program.__name__}, classes"] = of_run(program, size, device=gpu, net=net, shapes=True, fold=True)
    return found


PARTS: Final[dict[str, Callable[[int], dict[str, str]]]] = {
    "nets": frozen_nets,
    "faults": frozen_faults,
    "devices": frozen_devices,
}


def main() -> None:
    found = {part: {str(size): make(size) for size in SIZES} for part, make in PARTS.items()}
    DATA.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
