"""The core runs by itself: without the operations, the devices, the ledger, and all that stands above."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import minitorch_dist

PACKAGE = Path(minitorch_dist.__file__).parent

ALONE = """
import importlib.abc, sys, types

CORE = "core"
ALLOWED = ["minitorch_dist.tensors." + name for name in CORE.split()]

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("minitorch_dist", "transports"):
            if not any(name == each or name.startswith(each + ".") for each in ALLOWED):
                raise ImportError(name + " does not belong to the core")
        return None

for name, folder in (("minitorch_dist", sys.argv[1]), ("minitorch_dist.tensors", sys.argv[1] + "/tensors")):
    package = sys.modules[name] = types.ModuleType(name)  # without what its __init__ imports
    package.__path__ = [folder]
sys.meta_path.insert(0, Blocked())

import numpy as np
from minitorch_dist.tensors.core import base, engine, graph, views
from minitorch_dist.tensors.core.base import TensorBase

TensorBase.plain = TensorBase

def mul(a, b):
    x, y = a.array, b.array
    return graph.record(x * y, "MulBackward0", (a, lambda g: g * y, b), (b, lambda g: g * x, a))

def total(a):
    shape = a.array.shape
    return graph.record(a.array.sum(), "SumBackward0", (a, lambda g: np.broadcast_to(g, shape)))

def row(a, number):
    window = views.Window(a.array, a.array[number, ...])
    return views.view_of(a, a.array[number, ...], "SelectBackward0", window.widen)

for backward in (engine.simple_backward, engine.run):
    a = base.new(TensorBase, np.array([[1.0, 2.0], [3.0, 4.0]]))
    b = base.new(TensorBase, np.array([5.0, 6.0]))
    c = base.new(TensorBase, np.array(2.0))
    a.requires_grad = b.requires_grad = c.requires_grad = True
    product = mul(row(a, 1), b)
    views.write(row(product, 0), mul(c, c))  # its history goes into that of `product`
    backward([(graph.edge_of(total(product)), np.ones(()))])
    assert a.grad.array.tolist() == [[0.0, 0.0], [0.0, 6.0]], a.grad.array
    assert b.grad.array.tolist() == [0.0, 4.0], b.grad.array
    assert c.grad.array.tolist() == 4.0, c.grad.array

try:
    import minitorch_dist.tensors.ledger
except ImportError:
    print("alone")
"""


def test_the_core_runs_without_the_rest_of_the_house() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(PACKAGE)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "alone\n", done.stderr
