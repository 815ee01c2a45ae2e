"""Faults on a real network, to see how a program takes them.

    MINITORCH_DIST_FAULTS="drop=0.01;delay=20ms,p=0.1;seed=7" python train.py

The plans are those of the simulator (`transports.faults.plans`), and happen as well as they can on any
transport. A dropped message comes late, as below a transport that sends again, unless `unreliable` stands
in the list; a rank that crashes is cut off from all, but goes on; nobody becomes slower.
"""

from __future__ import annotations

import os
from typing import Final

from transports.contract import Transport
from transports.faults import plans
from transports.faults.faulty import FaultyTransport
from transports.faults.rules import Faults

VARIABLE: Final = "MINITORCH_DIST_FAULTS"


def disturbed(transport: Transport) -> Transport:
    """The transport, with the faults that the environment asks for, unless it has its own."""
    text = "" if transport.has_own_faults else os.environ.get(VARIABLE, "")
    if not text:
        return transport
    faults, planned = Faults(reliable=True), []
    for word in filter(None, (part.strip() for part in text.replace("\n", ";").split(";"))):
        if word.startswith("seed="):
            faults.seed = int(word.removeprefix("seed="))
        elif word == "unreliable":
            faults.reliable = False
        else:
            planned.append(plans.parse(word))
    for fault in plans.check(planned, transport.world_size):
        faults.install(fault)
    return FaultyTransport(transport, faults)
