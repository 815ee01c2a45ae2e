"""`check_transport` takes a function or an address, and says which line is broken."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch_dist.testing import check_transport
from transports.conformance import NotConforming
from transports.queue import QueueTransport

FEW = ["connect", "sizes", "reuse", "farewell"]


def test_an_address() -> None:
    check_transport("queue://{folder}", (1, 3), only=FEW)
    check_transport("tcp://", (2,), only=FEW)
    check_transport("file://{folder}/ring", (3,), only=FEW)


class Forgetful(QueueTransport):
    """Empty messages are not worth the trouble."""

    def send(self, dst: int, header: bytes, payload: Any) -> None:
        if len(payload):
            super().send(dst, header, payload)


def test_a_class_that_breaks_a_line() -> None:
    def make(rank: int, size: int, folder: str) -> Any:
        return Forgetful(rank, size, f"queue://{folder}")

    with pytest.raises(NotConforming, match="contract line 3, check 'sizes', 2 ranks"):
        check_transport(make, (2,), only=["sizes"], patience=0.5)
