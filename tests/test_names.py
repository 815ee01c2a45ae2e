"""One word means one thing: a class name stands for one class of the library."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

HOUSE = Path(__file__).parent.parent

# Names that torch itself gives to several classes, and two of ours that are one thing on two floors.
SHARED = {
    "Event": "torch.cuda.Event; a line of a journal",
    "GradScaler": "torch.amp, torch.cuda.amp",
    "Lost": "why a peer is gone; what a pupil says to its class, which is a word on the wire",
    "WorkerInfo": "torch.distributed.rpc, torch.utils.data",
    "autocast": "torch.amp, torch.cuda.amp",
    "device": "torch.device, torch.cuda.device",
    "PeerLost": "what a transport raises; the same with torch's type among its bases",
    "Store": "what a transport needs of a store; torch's Store, which has it",
}


def class_names() -> dict[str, list[str]]:
    found = defaultdict(list)
    for package in ("minitorch_dist", "transports", "mtd"):
        for path in sorted((HOUSE / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(f"{path.relative_to(HOUSE)}:{node.lineno}")
    return found


def test_class_names_are_unique() -> None:
    shared = {name: places for name, places in class_names().items() if len(places) > 1}
    assert {name: places for name, places in shared.items() if name not in SHARED} == {}
    assert SHARED.keys() <= shared.keys(), "a name that is not shared any more"
