"""Networks by name and in files, and what they make of messages; theory beside measured links."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim import nets
from mtd import calibration, estimates
from mtd.cli import main
from transports import quantities


def many(count: int) -> float:
    """Rank 0 sends `count` messages of 1000 bytes to rank 1, in a row."""
    if dist.get_rank() == 0:
        for work in [dist.isend(torch.zeros(250), 1) for _ in range(count)]:
            if work is not None:
                work.wait()
    if dist.get_rank() == 1:
        for _ in range(count):
            dist.recv(torch.zeros(250), 0)
    return sim.now()


def test_presets_are_their_models() -> None:
    hockney, loggp = sim.Hockney("5us", "1GB/s"), sim.LogGP("5us", "1us", "2us", "1GB/s")
    assert sim.run(many, 2, (3,), net=hockney).time == 3 * (5_000_000 + 1_000_000)
    alone = (5 + 2 * 1 + 1) * 1_000_000  # L + 2o + Gm
    assert sim.run(many, 2, (1,), net=loggp).time == alone
    assert sim.run(many, 2, (3,), net=loggp).time == alone + 2 * (2 + 1) * 1_000_000  # g + Gm each
    with pytest.raises(ValueError, match="gap"):
        sim.LogGP("1us", "1us", "9us", "1GB/s")


@pytest.mark.parametrize("engine", ["greenlet", "lockstep"])
def test_in_a_mesh_far_messages_pass_several_links(engine: str) -> None:
    grid = sim.mesh((2, 3), sim.link("1us", "1GB/s"))
    torus = sim.mesh((2, 3), sim.link("1us", "1GB/s"), wraps=True)
    assert [len(grid.way(0, rank)) - 1 for rank in range(6)] == [0, 1, 2, 1, 2, 3]
    assert [len(torus.way(0, rank)) - 1 for rank in range(6)] == [0, 1, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="rank 6 has no place"):
        grid.way(0, 6)

    def program() -> None:
        dist.all_reduce(torch.zeros(600), algorithm="rabenseifner")

    report = sim.run(program, 6, net=grid, engine=engine)
    assert report.time == sim.run(program, 6, net=grid, engine="threads").time
    assert sim.run(program, 6, net=torus).time < report.time


def test_computing_by_operations_and_at_other_speeds() -> None:
    def program() -> float:
        sim.compute(flops=2e9)
        sim.compute("1ms")
        return sim.now()

    report = sim.run(program, 3, flops="1T", speeds={1: 2.0, 2: 0.5})
    assert report.results == [0.003, 0.0015, 0.006]
    with pytest.raises(ValueError, match=r"pass sim\.run"):
        sim.run(program, 1)
    with pytest.raises(ValueError, match="factor above 0"):
        sim.run(program, 1, speeds={0: 0.0})


def test_networks_in_words_and_files(tmp_path: Path) -> None:
    assert nets.read("sim://?latency=2us&rate=8Gb/s").topology == sim.uniform("2us", "8Gb/s")
    text = "two_level:nodes=2,gpus=4,intra=1us/150GB/s,inter=5us/100Gb/s,nic=per_node"
    inner, outer = sim.link("1us", "150GB/s"), sim.link("5us", "100Gb/s")
    assert nets.read(text).topology == sim.two_level(2, 4, inner, outer, "per_node")
    path = tmp_path / "links.json"
    calibration.save_network(path, 7_000_000, Fraction(3, 2), {"measured": "nothing"})
    assert sim.run(many, 2, (1,), net=str(path)).time == 7_000_000 + 1500
    for wrong in ("carrier pigeons", "two_level:nodes=2", "two_level:nodes=2,gpus=1,intra=x,inter=y"):
        with pytest.raises(ValueError):
            nets.read(wrong)
    path.write_text("{}")
    with pytest.raises(ValueError, match="holds no network"):
        nets.load(path)


@pytest.mark.parametrize("text", ["1e999999999s", "1e-999999999s", "1e999s", "9" * 5000 + "s", "²s"])
def test_quantities_that_nobody_can_mean_are_refused_at_once(text: str) -> None:
    for read in (quantities.span, quantities.amount, quantities.byte_time):
        with pytest.raises(ValueError, match=r"quantity|digits"):
            read(text)
    assert quantities.in_words(quantities.span("1e30s")) == "1e+30 s"


def test_what_is_no_network_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no network is called"):
        nets.read("x" * 5000)
    path = tmp_path / "net.json"
    about = {"format": nets.FORMAT, "latency_ps": 1, "ps_per_byte": [1, 1]}
    for text in (
        "[" * 100_000,
        json.dumps({**about, "latency_ps": math.inf}),
        json.dumps({**about, "ps_per_byte": [1, 0]}),
        json.dumps({**about, "ps_per_byte": [math.nan, 1]}),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match="holds no network"):
            nets.load(path)


def test_no_estimate_beats_the_bound() -> None:
    inner, outer = sim.link("1us", "150GB/s"), sim.link("5us", "100Gb/s")
    for net in (sim.uniform("5us", "100Gb/s"), sim.two_level(4, 4, inner, outer)):
        for collective in ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all"):
            for size in (2, 5, 16):
                for one in estimates.compare(collective, size, 7200 * 7, net):
                    assert one.time >= one.bound > 0


def test_a_fit_finds_the_line() -> None:
    times = {n: 3_000_000 + 2 * n for n in calibration.SIZES}
    found = calibration.fit(times)
    assert abs(found.latency - 3_000_000) < 10 and abs(found.per_byte - 2) < Fraction(1, 100)
    assert found.network.topology == sim.uniform(found.latency, found.per_byte)


def test_calibrating_and_verifying_a_transport(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "links.json")
    assert main(["calibrate", "queue://", "--rounds", "3", "--out", path]) == 0
    assert "GB/s: written to" in capsys.readouterr().out
    given = ["verify", "queue://", "--net", path, "--ranks", "3", "--size", "1KB", "--rounds", "2"]
    assert main(given) == 0
    *said, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["all_reduce", "ring", "binomial", "rabenseifner"]
    assert re.fullmatch(r"[0-3] of 3 measured values fell inside their 90% intervals", last)
    assert main(["verify", "queue://", "--net", "sim://?latency=9us", "--size", "1KB", "--rounds", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("no intervals")
    assert main(["calibrate", "warp://"]) == 2 and main(["verify", "queue://", "--ranks", "1"]) == 2


def test_simulating_a_collective(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "all_reduce", "--ranks", "64", "--size", "10MB"]) == 0
    said = capsys.readouterr().out
    assert "rabenseifner" in said and "1.635 ms" in said
    assert main(["simulate", "barrier", "--ranks", "5", "--adding", "8GB/s"]) == 0
    assert main(["simulate", "gather", "--net", "nope"]) == 2
    assert "nope" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["mesh:=4x4", "mesh:,=,", "torus:size=4x4", "fat_tree:=", "dragonfly:groups=2,=3"])
def test_a_word_that_no_network_has_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"there is no '(size)?'; there are"):
        nets.read(text)
