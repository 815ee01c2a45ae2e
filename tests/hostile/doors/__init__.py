"""The doors, by what stands behind them.

wires        bytes of transports: frames, handshakes, headers, MQTT packets, rings, logs
stores       commands and answers of a store, and the file of a FileStore
objects      the codec without pickle, and requests of RPC
files        safetensors and what `save` wrote, checkpoints, journals, IDX files, networks, traces, plans,
             MSCCL's algorithms, tables of claims, results of mtd lab
texts        addresses, spans and rates, plans of faults, layouts, tokens, options of mtdrun
classes      what a laptop of a class says, and calls itself
"""

from __future__ import annotations

from pathlib import Path

from tests.hostile.door import Door
from tests.hostile.doors import classes, files, objects, stores, texts, wires


def all_doors(folder: Path) -> list[Door]:
    """Every door. Those that need files have a folder of their own inside `folder`."""
    found: list[Door] = []
    for room in (wires, stores, objects, files, texts, classes):
        found += room.doors(folder)
    return found
