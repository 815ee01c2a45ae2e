"""Networks as they are built: their routes, their links, and what messages take on them."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.schedules import BUILT_IN, choice
from minitorch_dist.sim import nets, topology_links
from mtd import estimates
from mtd.cli import main
from mtd.pages.link_table import link_rows, link_table
from tests.sim.messages import Letter, ends_of

ALPHA, BETA = 1_000_000, 1000  # 1 µs, 1 GB/s
LINK, FAST, SLOW = (sim.link(ALPHA, BETA), sim.link(ALPHA // 2, BETA // 8), sim.link(3 * ALPHA, 4 * BETA))
NETS: dict[str, Any] = {
    "ring": sim.torus((5,), LINK),
    "torus": sim.torus((3, 4), LINK),
    "cube": sim.torus((2, 3, 4), LINK),
    "mesh": sim.mesh((3, 3), LINK),
    "fat tree": sim.fat_tree(3, 4, 2, LINK, SLOW),
    "rails": sim.rails(3, 4, FAST, LINK),
    "rails and spines": sim.rails(3, 4, FAST, LINK, spines=2, up=SLOW),
    "dragonfly": sim.dragonfly(4, 3, 1, 1, LINK, FAST, SLOW),
    "dragonfly of many": sim.dragonfly(3, 2, 2, 1, LINK),
}
ALL = pytest.mark.parametrize("net", NETS.values(), ids=list(NETS))


def pairs(net: Any) -> list[tuple[int, int]]:
    return [(a, b) for a in range(net.places) for b in range(net.places) if a != b]


@ALL
def test_a_way_is_the_same_each_time_and_passes_no_link_twice(net: Any) -> None:
    for src, dst in pairs(net):
        links = net.route(src, dst).links()
        assert links == net.route(src, dst).links()
        ports = [port for port, _ in links]
        assert len(set(ports)) == len(ports) >= 2
        assert str(src) in str(ports[0]) and str(dst) in str(ports[-1])
    with pytest.raises(ValueError, match="no place"):
        net.route(0, net.places)


@ALL
@pytest.mark.parametrize("nbytes", [0, 1, 4001])
def test_a_message_alone_takes_its_latency_and_the_slowest_link(net: Any, nbytes: int) -> None:
    for src, dst in pairs(net):
        route = net.route(src, dst)
        (end,) = ends_of(net, [(src, dst, nbytes, 7)])
        slowest = max(link.per_byte for _, link in route.links())
        assert end == 7 + route.alone(nbytes)
        assert route.alone(0) + nbytes * slowest >= route.alone(nbytes) >= nbytes * slowest


def test_ways_are_minimal() -> None:
    for shape in ((5,), (3, 4), (2, 3, 4)):
        net = sim.torus(shape, LINK)
        places = list(np.ndindex(*shape))
        for src, dst in pairs(net):
            gaps = [
                min((a - b) % side, (b - a) % side) for a, b, side in zip(places[src], places[dst], shape, strict=True)
            ]
            assert len(net.way(src, dst)) - 1 == sum(gaps)
    for name in ("dragonfly", "dragonfly of many"):
        net = NETS[name]
        for src, dst in pairs(net):
            way = net.way(src, dst)
            far = sum(a[0] != b[0] for a, b in itertools.pairwise(way))
            assert len(way) <= 4 and far == (way[0][0] != way[-1][0])
    rails = NETS["rails"]
    assert [port for port, _ in rails.route(1, 5).links()] == [("rail out", 1), ("rail in", 5)]
    assert [port for port, _ in rails.route(1, 6).links()] == [
        ("NVLink out", 1),
        ("NVLink in", 2),
        ("rail out", 2),
        ("rail in", 6),
    ]
    assert rails.route(1, 6).alone(0) == ALPHA // 2 + ALPHA


def test_there_are_as_many_links_as_in_the_book() -> None:
    def numbers(net: Any) -> dict[str, int]:
        return {row.kind: row.number for row in link_rows(net, net.places)}

    ports = {"out of a rank": 12, "into a rank": 12}
    assert numbers(sim.torus((3, 4), LINK)) == {**ports, "between neighbours": 2 * 2 * 12}
    assert numbers(sim.mesh((3, 4), LINK)) == {**ports, "between neighbours": 2 * (2 * 4 + 3 * 3)}
    assert numbers(NETS["fat tree"]) == {**ports, "up": 3 * 2, "down": 2 * 3}
    assert numbers(NETS["dragonfly"]) == {**ports, "local": 4 * 3 * 2, "far": 4 * 3}
    own = dict.fromkeys(("NVLink out", "NVLink in", "rail out", "rail in"), 12)
    assert numbers(NETS["rails"]) == own
    assert numbers(NETS["rails and spines"]) == {**own, "up": 4 * 2, "down": 2 * 4}
    (row,) = [row for row in link_rows(sim.torus((5,), LINK), 5) if row.kind.startswith("between")]
    assert row.fewest == row.most == 3  # from each rank 1 and 2 links far, both ways round
    said = link_table(NETS["dragonfly"], 12)
    assert "0.25 GB/s" in said and len(said.splitlines()) == 5
    with pytest.raises(ValueError, match="1024 ranks at most"):
        link_table(sim.torus((2000,), LINK), 2000)


def random_letters(net: Any, seed: int, count: int, latest: int = 0) -> list[Letter]:
    draw = np.random.default_rng(seed)
    chosen = [pairs(net)[int(draw.integers(len(pairs(net))))] for _ in range(count)]
    return [(src, dst, int(draw.integers(0, 100_000)), int(draw.integers(0, latest + 1))) for src, dst in chosen]


@ALL
def test_no_link_carries_more_than_its_bandwidth(net: Any) -> None:
    """What passed a link in some span of time took no more than that span; and messages between the
    same two ranks keep their order."""
    letters = random_letters(net, 1, 40, 50_000_000)
    ends = ends_of(net, letters)
    passed: dict[Any, list[tuple[int, int, Fraction]]] = {}
    last: dict[tuple[int, int], tuple[int, int]] = {}
    order = sorted(range(len(letters)), key=lambda number: letters[number][3])
    for number in order:
        src, dst, nbytes, start = letters[number]
        assert ends[number] >= start + net.route(src, dst).alone(nbytes)
        before = last.get((src, dst), (-1, -1))
        assert before[0] == start or before[1] <= ends[number]
        last[src, dst] = start, ends[number]
        for port, link in net.route(src, dst).links():
            passed.setdefault(port, []).append((start, ends[number], nbytes * link.per_byte))
    for uses in passed.values():
        for start, _, _ in uses:
            for _, end, _ in uses:
                within = sum(busy for begin, over, busy in uses if start <= begin and over <= end)
                assert within <= max(end - start, 0)


def without_latency(net: Any, faster: int = 1) -> Any:
    """Where time is nothing but bytes."""
    fields = {name: getattr(net, name) for name in net.__dataclass_fields__}
    links = {name: sim.link(0, link.per_byte / faster) for name, link in fields.items() if isinstance(link, sim.Link)}
    return type(net)(**{**fields, **links})


@ALL
def test_twice_the_bandwidth_takes_half_the_time(net: Any) -> None:
    letters = random_letters(net, 2, 12)
    one, two = (ends_of(without_latency(net, factor), letters) for factor in (1, 2))
    assert all(abs(a - 2 * b) <= 100 for a, b in zip(one, two, strict=True))
    assert max(one) > 0


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_ring_on_a_torus_takes_what_the_book_says(size: int) -> None:
    """All lines of a torus at once: a ring of neighbours is in nobody's way."""

    def program() -> None:
        rows = [list(range(row * size, row * size + size)) for row in range(2)]
        mine, _ = dist.new_subgroups_by_enumeration(rows)
        begin = 10**12
        sim.compute(f"{begin - round(sim.now() * 1e12)}ps")  # all at the same instant
        dist.all_reduce(torch.zeros(size * 100), algorithm="ring", group=mine)
        took.append(round(sim.now() * 1e12) - begin)

    took: list[int] = []
    net = sim.torus((2, size), LINK)
    sim.run(program, 2 * size, net=net, engine="greenlet")
    assert max(took) == 2 * (size - 1) * (ALPHA + 400 * BETA)
    estimate = estimates.time_of(BUILT_IN["all_reduce", "ring"], size, 400 * size, sim.torus((size,), LINK))
    assert estimate == max(took)


@pytest.mark.parametrize("name", ["rails", "rails and spines", "dragonfly", "fat tree"])
def test_engines_and_estimates_agree(name: str) -> None:
    def everybody() -> None:
        x = torch.zeros(12 * 50)
        dist.all_to_all_single(torch.empty(12 * 50), x, algorithm="pairwise")
        dist.all_reduce(torch.ones(7))

    net = NETS[name]
    reports = [sim.run(everybody, 12, net=net, engine=engine) for engine in ("greenlet", "threads", "auto", "lockstep")]
    reports.append(sim.run(everybody, 12, net=net, seed=5, engine="greenlet"))
    assert len({report.time for report in reports}) == 1
    assert len({report.digest for report in reports[:4]}) == 1

    def one() -> None:
        dist.all_to_all_single(torch.empty(600), torch.zeros(600), algorithm="pairwise")

    schedule = BUILT_IN["all_to_all", "pairwise"]
    time = estimates.time_of(schedule, 12, 2400, net)
    assert time == sim.run(one, 12, net=net).time
    found = estimates.estimate(schedule, 12, 2400, net)
    assert found.time == time >= found.bound


def test_a_slow_rank_is_slow_on_rails_as_well() -> None:
    net = NETS["rails"]

    def program() -> None:
        dist.all_reduce(torch.zeros(12_000), algorithm="ring")

    calm = sim.run(program, 12, net=net).time
    slow = sim.run(program, 12, net=net, faults=[sim.slow(3, x=3, what="network")]).time
    assert slow > 2 * calm


def test_on_rails_large_vectors_go_through_the_nodes_first() -> None:
    """NCCL's choice: for few bytes few rounds, for many bytes NVLink first and then each rail."""
    net = sim.rails(4, 8, sim.link("1us", "450GB/s"), sim.link("5us", "400Gb/s"))
    links = topology_links.links_of(net)
    small, large = (choice.choose("all_reduce", 32, nbytes, links).algorithm for nbytes in (256, 1 << 28))
    assert large.startswith("rails") and not small.startswith(("hierarchical", "rails", "ring"))
    for nbytes, chosen in ((256, small), (1 << 28, large)):
        found = {e.schedule.algorithm: e.time for e in estimates.compare("all_reduce", 32, nbytes, net)}
        assert found[chosen] <= found["ring"]
        assert nbytes < 1024 or found[chosen] == min(found.values())


def test_what_cannot_be_built_is_refused() -> None:
    def refused(words: str, make: Any, *args: Any, **more: Any) -> None:
        with pytest.raises(ValueError, match=words):
            make(*args, **more)

    refused("sides of a mesh", sim.torus, (), LINK)
    refused("sides of a mesh", sim.mesh, (3, 0), LINK)
    refused("at least one node", sim.rails, 0, 8, LINK, LINK)
    refused("no links up", sim.rails, 2, 8, LINK, LINK, up=LINK)
    refused("at least one group", sim.dragonfly, 1, 0, 1, 1, LINK)
    refused("needs 4 links to the others, but 3 routers", sim.dragonfly, 5, 3, 2, 1, LINK)
    refused("is not a rate", sim.link, "1us", "0Gb/s")
    for size in (1, 11, 13):
        refused("sides of a torus", sim.run, dist.barrier, size, net=sim.torus((3, 4), LINK))
    refused("holds 9 ranks", sim.run, dist.barrier, 10, net=NETS["mesh"])
    sim.run(dist.barrier, 5, net=NETS["mesh"])  # a part of it


@pytest.mark.parametrize(
    ("text", "net"),
    [
        ("torus:shape=3x4,link=1us/1GB/s", sim.torus((3, 4), LINK)),
        ("mesh:shape=12,link=1us/1GB/s", sim.mesh((12,), LINK)),
        ("fat_tree:leaves=3,ranks=4,spines=2,link=1us/1GB/s", sim.fat_tree(3, 4, 2, LINK)),
        ("rails:nodes=3,gpus=4,nvlink=1us/1GB/s,rail=1us/1GB/s", sim.rails(3, 4, LINK, LINK)),
        ("dragonfly:groups=3,routers=2,ranks=2,far_links=1,link=1us/1GB/s", sim.dragonfly(3, 2, 2, 1, LINK)),
    ],
)
def test_networks_in_words(text: str, net: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert nets.read(text) == sim.Network(net)
    given = ["simulate", "barrier", "--ranks", "12", "--net", text, "--links"]
    assert main(given) == 0
    assert link_table(net, 12).splitlines()[1].split()[0] in capsys.readouterr().out
    kind = text.partition(":")[0]
    for wrong in (f"{kind}:", f"{text},nonsense=1", text.replace("1us", "x")):
        with pytest.raises(ValueError, match=f"write it like {kind}:"):
            nets.read(wrong)


SYSTEM = "/usr/bin/python3"


def has_simgrid() -> bool:
    if shutil.which(SYSTEM) is None or sys.platform != "linux":
        return False
    seen = subprocess.run([SYSTEM, "-c", "import simgrid"], capture_output=True, check=False)
    return seen.returncode == 0


def by_simgrid(net: Any, letters: list[Letter]) -> list[float]:
    """When each message is there, in picoseconds, on the same links under SimGrid. A link has its latency
    there, too; a rank's port in has none, and on a grid its port out has none: the head of a message
    passes these with that of the next link."""
    free = ("into a rank", "NVLink in", "rail in", *["out of a rank"] * hasattr(net, "shape"))
    numbers: dict[Any, int] = {}
    links, routes = [], []
    for src, dst in sorted({letter[:2] for letter in letters}):
        way = []
        for port, link in net.route(src, dst).links():
            if port not in numbers:
                numbers[port] = len(numbers)
                latency = 0 if port[0] in free else link.latency
                links.append((float(10**12 / link.per_byte), latency / 1e12))
            way.append(numbers[port])
        routes.append((src, dst, way))
    messages = [(src, dst, nbytes, start / 1e12) for src, dst, nbytes, start in letters]
    said = {"ranks": net.places, "links": links, "routes": routes, "messages": messages}
    script = Path(__file__).parent / "simgrid_platform.py"
    done = subprocess.run(
        [SYSTEM, str(script)], input=json.dumps(said), capture_output=True, text=True, check=True, timeout=60
    )
    return [end * 1e12 for end in json.loads(done.stdout)]


needs_simgrid = pytest.mark.skipif(not has_simgrid(), reason="SimGrid's Python module is not installed")


@needs_simgrid
@ALL
def test_a_message_alone_takes_as_long_as_in_simgrid(net: Any) -> None:
    second = 10**12
    letters = [(a, b, 1_000_000, number * second) for number, (a, b) in enumerate(pairs(net))]
    theirs = by_simgrid(net, letters)
    ours = ends_of(net, letters)
    for (_, _, _, start), mine, other in zip(letters, ours, theirs, strict=True):
        assert abs(mine - other) <= 0.01 * (mine - start)


@needs_simgrid
@pytest.mark.parametrize("size", [4, 6, 8])
def test_a_line_takes_as_long_as_with_simgrids_sharing(size: int) -> None:
    """Messages of all ranks across the middle: one by one, or all at once at a share of the rate, the
    last one comes at the same time, within what a fluid model leaves out."""
    net = sim.mesh((size,), sim.link(0, BETA))
    letters = [(rank, rank + size // 2, 4_000_000, 0) for rank in range(size // 2)]
    theirs = max(by_simgrid(net, letters))
    assert abs(max(ends_of(net, letters)) - theirs) <= 0.01 * theirs
