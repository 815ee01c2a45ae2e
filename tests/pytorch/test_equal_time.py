"""One device model prices both: the same transformer takes the same time in this library and in torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import minitorch_dist as ours
from minitorch_dist import sim
from mtd.cli.bench.pytorch_scripts import llama
from mtd.planning import model_files
from mtd.planning.layouts import TrainingLayout
from mtd.planning.training_step import train as plan

WIDTH, HEADS, WORDS, ROWS, LENGTH = 512, 8, 1000, 4, 256


def _block(lib: Any) -> Any:
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
            self.up, self.down = (nn.Linear(a * WIDTH, b * WIDTH, bias=False) for a, b in ((1, 4), (4, 1)))

        def forward(self, x: Any) -> Any:
            h = self.norm1(x)
            parts = (m(h).reshape(ROWS, LENGTH, HEADS, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
            q, k, v = parts
            seen = F.softmax(q @ k.transpose(-2, -1) * 0.125, -1) @ v
            x = x + self.o(seen.transpose(1, 2).reshape(ROWS, LENGTH, WIDTH))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    return Block()


def _train(lib: Any, device: str, steps: int, **options: Any) -> None:
    nn = lib.nn
    words, logits = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
    net = nn.Sequential(words, _block(lib), _block(lib), logits).to(device)
    optimizer = lib.optim.AdamW(net.parameters(), **options)
    for _ in range(steps):
        x = lib.zeros(ROWS, LENGTH, dtype=lib.long).to(device)
        nn.functional.cross_entropy(net(x).flatten(0, 1), x.flatten()).backward()
        optimizer.step()


def _in_torch(steps: int) -> None:
    _train(torch, "cpu", steps, fused=True)


def _in_ours(steps: int) -> None:
    _train(ours, "cuda", steps)


def _step(program: Any, device: Any) -> tuple[int, int, int]:
    """Of a second step: picoseconds and FLOP; and the most that was held."""
    one, two = (sim.run(program, 1, (steps,), device=device, shapes=True) for steps in (1, 2))
    uses = [run.ranks[0].device for run in (one, two)]
    assert uses[0] is not None and uses[1] is not None
    return two.time - one.time, uses[1].flops - uses[0].flops, two.ranks[0].peak_bytes or 0


@pytest.mark.parametrize("launch", [0, "4us"])
def test_a_step_takes_the_same_time(launch: Any) -> None:
    device = sim.gpu("h100", launch=launch)
    (time, flops, peak), (own_time, own_flops, own_peak) = (_step(program, device) for program in (_in_torch, _in_ours))
    assert flops == own_flops > 0
    assert peak == pytest.approx(own_peak, rel=0.02)
    if not launch:  # torch launches more kernels for the same work, and ours one for each node
        assert time == pytest.approx(own_time, rel=0.02)
    else:
        assert time > own_time


def test_fsdp_takes_the_time_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama.train, "uses_torch", True, raising=False)  # nobody looks into modules of ours
    net = "two_level:nodes=2,gpus=4,intra=2us/450GB/s,inter=5us/400Gb/s"
    model = model_files.read("llama3-8b").changed(layers=2, batch=8, sequence=2048)
    sizes = llama.arguments().parse_args(["--layers", "2", "--sequence", "2048"])
    layout = TrainingLayout(shards=8, ahead=True)
    given: Any = {"shapes": True, "device": "h100", "net": net, "fold": True}
    planned = sim.run(plan, 8, (model, layout), **given)
    found = sim.run(llama.train, 8, (sizes,), **given)
    assert found.time == pytest.approx(planned.time, rel=0.06)
    one, other = found.ranks[0], planned.ranks[0]
    assert one.device is not None and other.device is not None
    assert (one.bytes_sent, one.device.flops) == (other.bytes_sent, other.device.flops)
