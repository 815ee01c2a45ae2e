"""What a mailbox holds that nobody has asked for is told, and may be bounded."""

from __future__ import annotations

import re

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import world
from minitorch_dist.distributed.mail import held

LINE = r"at test_held\.py:\d+ of group 'default_pg' from rank 0"


def flood(count: int, size: int) -> float:
    """Rank 0 sends many before the one that rank 1 waits for; then all are received."""
    dist.barrier()  # rank 1 knows the group by now, and can name it
    if dist.get_rank() == 0:
        for _ in range(count):
            dist.send(torch.ones(size), 1, tag=7)
        dist.send(torch.ones(1), 1)
        return 0.0
    x, total = torch.zeros(size), 0.0
    if dist.get_rank() == 1:
        dist.recv(torch.zeros(1), 0)
        for _ in range(count):
            dist.recv(x, 0, tag=7)
            total += x[0].item()
        assert world.current().mailbox.pairing.held == 0
    return total


@pytest.mark.parametrize("transport", ["queue://", "sim://", pytest.param("tcp://", marks=pytest.mark.slow)])  # fmt: skip
def test_it_is_told_whenever_it_has_doubled(
    transport: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(held, "WORTH_A_LINE", 100_000)
    assert launch(flood, 3, transport, args=(90, 2500)) == [0, 90, 0]
    if transport == "tcp://":
        return  # said in another process
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 3, said  # at 110, 230 and 470 KB, and not again before 940
    assert re.search(
        rf"rank 1 holds 0\.1 MB .* 11 × send with tag 7 \(float32\[2500\]\) {LINE}", said[0]
    )
    assert "23 ×" in said[1] and "MINITORCH_DIST_HELD=1GB" in said[1]


@pytest.mark.parametrize("transport", ["queue://", "sim://", pytest.param("tcp://", marks=pytest.mark.slow)])  # fmt: skip
def test_a_bound_is_kept_and_explained(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(held.VARIABLE, "200KB")
    assert launch(flood, 2, transport, args=(19, 2500)) == [0, 19]
    with pytest.raises(dist.PeerLost) as caught:
        launch(flood, 2, transport, args=(40, 2500))
    said = str(caught.value)
    assert "would hold 0.2 MB that it has not received, more than MINITORCH_DIST_HELD=200KB" in said
    assert re.search(rf"20 × send with tag 7 \(float32\[2500\]\) {LINE}", said), said


def test_a_bound_must_be_an_amount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(held.VARIABLE, "much")
    with pytest.raises(ValueError, match="much"):
        launch(flood, 2, args=(1, 1))
