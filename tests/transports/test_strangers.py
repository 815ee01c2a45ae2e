"""Strangers in front of every listener: memory and files stay bounded, and members come in.

`strangers.py` sends 20,000; here are a few hundred, more than any listener has places for.
"""

from __future__ import annotations

import pytest

from tests.transports import strangers
from tests.transports.strangers import LISTENERS, OPEN
from transports.broker.server import MAX_STRANGERS
from transports.sockets.auth_listener import SLOTS


@pytest.mark.parametrize("name", LISTENERS)
def test_a_crowd_costs_little_and_keeps_nobody_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "VISITS", 3)
    cost = LISTENERS[name](450)
    assert cost.visits  # each of them was served
    assert cost.megabytes < 24  # 250 KB for each stranger would be 110
    inside = OPEN + 100 if "world" in name else 100  # there the strangers' own ends count, too
    assert cost.files <= max(SLOTS, MAX_STRANGERS) + inside
