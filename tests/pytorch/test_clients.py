"""Packages that stand on PyTorch train over our wires and on simulated ranks, with gloo's losses."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from minitorch_dist import sim
from tests.pytorch import clients
from tests.pytorch.ranks import on_ranks

CLIENTS = {
    "accelerate": clients.accelerate,
    "lightning.fabric": clients.fabric,
    "lightning.pytorch": clients.lightning,
    "transformers": clients.trainer,
}


@pytest.fixture(params=CLIENTS)
def program(request: Any) -> Any:
    """A client's program. The client is imported before the ranks are forked."""
    package = request.param
    pytest.importorskip(package.partition(".")[0], reason=f"{package} is not installed: make parity does it")
    importlib.import_module(package)
    return CLIENTS[package]


@pytest.mark.filterwarnings("ignore")  # of the packages themselves
def test_a_client_has_gloos_losses_over_tcp_and_on_simulated_ranks(program: Any) -> None:
    gloo = on_ranks(program, 2, backend="gloo")
    assert on_ranks(program, 2) == gloo
    assert sim.run(program, 2).results == gloo


@pytest.mark.filterwarnings("ignore")
def test_more_simulated_ranks_agree(program: Any) -> None:
    report = sim.run(program, 5)
    assert all(losses == report.results[0] for losses in report.results)
    again = sim.run(program, 5)
    assert again.digest == report.digest and again.results == report.results
