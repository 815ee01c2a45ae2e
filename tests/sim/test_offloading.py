"""Offloading to the host: copies and updates take as long as the formula says, beside what is computed, and a plan tells them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import nn, sim
from minitorch_dist.distributed.fsdp import CPUOffloadPolicy, fully_shard
from mtd import cli
from mtd.planning import layout_words, model_files, offloading, search
from mtd.planning.clusters import cluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from tests.deep import some_of
from transports.clock import PICO

WIDTH = 24
SIZES = (1, 2, 3, 5, 8)
HOSTED = sim.Device("hosted", {"float32": "1T"}, 1e30, "1GB", host="1TB/s", host_memory="500GB/s")  # 1 ps a byte, and 2
ALONE = sim.Device("alone", {"float32": "1T"}, 1e30, "1GB")
FREE = sim.uniform(0, 0)
TINY = ModelSizes("tiny", "llama", 4, 8, 4, 12, 8, 8, kv_heads=2, ffn=12)


def sharded(layers: int) -> Any:
    """As many layers, each of them a unit of its own; the next one is gathered while one computes."""
    units = [
        fully_shard(nn.Linear(WIDTH, WIDTH, bias=False, device="cuda"), offload_policy=CPUOffloadPolicy())
        for _ in range(layers)
    ]
    for unit, following in itertools.pairwise(units):
        unit.set_modules_to_forward_prefetch([following])
    return units


def largest_shard(size: int) -> int:
    return -(-WIDTH // size) * WIDTH * 4


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("device", [HOSTED, ALONE], ids=lambda device: device.name)
def test_a_step_is_what_is_copied_computed_and_updated(size: int, device: sim.Device) -> None:
    def step() -> int:
        (unit,) = sharded(1)
        optimizer = torch.optim.SGD(unit.parameters(), lr=0.1)
        x, before = torch.ones(6, WIDTH, device="cuda"), sim.now()
        unit(x).sum().backward()
        optimizer.step()
        return round((sim.now() - before) * 1e12)

    product, shard = 2 * 6 * WIDTH * WIDTH, largest_shard(size)
    copied = shard + shard + 2 * 3 * shard  # comes, goes; the host reads two and writes one, at 2 ps a byte
    expected = 2 * product + (copied if device is HOSTED else 0)
    assert max(sim.run(step, size, net=FREE, device=device).results) == expected


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [1, 6, 200])
def test_copies_are_hidden_by_what_is_computed(size: int, rows: int) -> None:
    layers = 5

    def forward() -> int:
        units, x = sharded(layers), torch.ones(rows, WIDTH, device="cuda")
        before = sim.now()
        with torch.no_grad():
            for unit in units:
                x = unit(x)
        return round((sim.now() - before) * 1e12)

    product, shard = 2 * rows * WIDTH * WIDTH, largest_shard(size)
    expected = shard + (layers - 1) * max(shard, product) + product
    assert max(sim.run(forward, size, net=FREE, device=HOSTED).results) == expected


@pytest.mark.parametrize(
    "layout",
    some_of(
        [
            TrainingLayout(shards=2, offload="parameters"),
            TrainingLayout(shards=2, offload="optimizer", ahead=True),
            TrainingLayout(shards=4, micro=2, offload="parameters", ahead=True),
            TrainingLayout(replicas=2, shards=2, offload="parameters"),
            TrainingLayout(pipeline=2, shards=2, offload="optimizer"),
            TrainingLayout(pipeline=2, tensor=2, offload="parameters"),
        ],
        0,
        1,
        3,
        5,
    ),
    ids=str,
)
def test_one_rank_of_each_role_takes_what_all_ranks_take(layout: TrainingLayout) -> None:
    here = cluster("h100", layout.ranks, "nvlink2+400G")
    folded = search.whole_step(TINY, layout, here)
    layers = TINY.layers // layout.pipeline
    whole = search.step(TINY, layout, here, layers, layout.micro_batches(TINY), False)
    assert folded.folded is not None and folded.time == whole.time
    assert [rank.peak_bytes for rank in folded.ranks] == [rank.peak_bytes for rank in whole.ranks]


@pytest.mark.parametrize("offload", offloading.OFFLOADS[1:])
def test_less_is_held_and_a_step_takes_longer(offload: str) -> None:
    here, model = cluster("h100", 2, "nvlink8+400G"), model_files.read("gpt-small").changed(layers=2, batch=4)
    usual, other = (search.simulated(model, TrainingLayout(shards=2, offload=each), here) for each in ("none", offload))
    nbytes = 14 * model.parameters  # of AdamW, for one of two ranks
    update = nbytes / here.device.host_memory - here.device.time(nbytes) / PICO
    assert other.seconds > usual.seconds + update
    assert other.memory["optimizer"] == 0 < usual.memory["optimizer"]
    if offload == "parameters":
        assert other.memory["parameter"] < usual.memory["parameter"]


def test_the_command_says_what_is_offloaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--layout", "fsdp=2 accumulate=1 offload=parameters"]
    assert cli.main(["plan", "gpt-small", "--gpus", "2", *words, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["layout"]["offload"] == "parameters"
    assert cli.main(["plan", "gpt-small", "--gpus", "2", "--device", "b200", *words]) == 2
    assert "offload: nobody has told the link of a B200-SXM to its host" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(ValueError, match="offload is none, optimizer, parameters, not 'all'"):
        layout_words.read("fsdp=2 offload=all", TINY, 2)


def test_wrong_rates_are_named() -> None:
    for word in ("host", "host_memory"):
        with pytest.raises(ValueError, match=f"a device's {word} is above 0"):
            sim.gpu("h100", **{word: 0})
    assert sim.gpu("h200").host == sim.gpu("h100").host == 52.8e9
