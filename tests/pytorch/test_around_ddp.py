"""Hooks, static graphs, `Join`, the compiler and asynchronous checkpoints over our wires and on simulated ranks: gloo's losses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch.distributed as dist

from minitorch_dist import sim
from tests.pytorch import around_ddp
from tests.pytorch.ranks import RankFailed, on_ranks

PROGRAMS = [
    around_ddp.power_sgd,
    around_ddp.static_graph,
    around_ddp.uneven_inputs,
    around_ddp.compiled,
    around_ddp.written_beside,
    around_ddp.watched_barrier,
]


def _with_group(program: Any) -> Any:
    dist.init_process_group("gloo")
    result = program()
    dist.destroy_process_group()
    return result


@pytest.mark.filterwarnings("ignore")  # of torch itself
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_two_ranks_have_gloos_losses_over_tcp_and_in_the_simulator(program: Any) -> None:
    gloo = on_ranks(program, 2, backend="gloo")
    assert on_ranks(program, 2) == gloo
    assert sim.run(partial(_with_group, program), 2).results == gloo


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("program", [*PROGRAMS, around_ddp.power_sgd_in_buckets], ids=lambda program: program.__name__)
def test_simulated_ranks_have_the_losses_of_tcp(program: Any, size: int) -> None:
    assert sim.run(partial(_with_group, program), size).results == on_ranks(program, size)


def test_the_error_of_a_hooks_callback_comes_out_of_the_backward() -> None:
    with pytest.raises(RankFailed, match="KeyError: 'of a callback'"):
        on_ranks(around_ddp.failing_callback, 2)
    with pytest.raises(KeyError, match="of a callback"):
        sim.run(partial(_with_group, around_ddp.failing_callback), 3)
