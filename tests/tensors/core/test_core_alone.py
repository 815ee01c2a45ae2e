"""The core runs by itself: without the operations, the devices, the ledger, and all that stands above."""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import minitorch_dist
from mtd.cli.code_lines import code_lines

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
from minitorch_dist.tensors.core import base, engine, graph, view_geometry, views
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.operations import add, mul, sum

TensorBase.plain = TensorBase

def row(a, number):
    window = view_geometry.Window(a.array, a.array[number, ...])
    return views.view_of(a, a.array[number, ...], "SelectBackward0", window.widen)

def made(*values):
    tensors = [base.new(TensorBase, np.array(value)) for value in values]
    for each in tensors:
        each.requires_grad = True
    return tensors

for backward in (engine.simple_backward, engine.run):
    a, b, c = made([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0], 2.0)
    product = mul(row(a, 1), add(b, 1.0))
    views.write(row(product, 0), mul(c, c))  # its history goes into that of `product`
    backward([(graph.edge_of(mul(sum(product), 2)), np.ones(()))])
    assert a.grad.array.tolist() == [[0.0, 0.0], [0.0, 14.0]], a.grad.array
    assert b.grad.array.tolist() == [0.0, 8.0], b.grad.array
    assert c.grad.array.tolist() == 8.0, c.grad.array

def raises(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"{call} did not raise {error}")

x, y = made(3.0, 4.0)
z = mul(x, y)
engine.run([(graph.edge_of(z), np.ones(()))])
assert (x.grad.array, y.grad.array) == (4.0, 3.0)
raises(RuntimeError, lambda: engine.run([(graph.edge_of(z), np.ones(()))]))  # it was freed
z = mul(x, y)
views.bump(y)
raises(RuntimeError, lambda: engine.run([(graph.edge_of(z), np.ones(()))]))  # y was written to
raises(NotImplementedError, lambda: add(x, base.new(TensorBase, np.array(1))))  # that is left to others
assert "ml_dtypes" not in sys.modules

try:
    import minitorch_dist.tensors.ledger
except ImportError:
    print("alone")
"""


def test_the_core_runs_without_the_rest_of_the_house() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE, str(PACKAGE)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "alone\n", done.stderr


def test_the_core_is_the_lowest_floor_and_all_rooms_are_named() -> None:
    """So a room that is new is forbidden to the core, and to everybody, until `setup.cfg` names it."""
    config = ConfigParser()
    config.read(PACKAGE.parent / "setup.cfg")
    contract = config["importlinter:contract:tensors"]
    assert contract["exhaustive"] == "true"
    assert contract["layers"].split("\n")[-1] == "core"


def test_the_core_can_be_read_in_an_evening() -> None:
    assert sum(code_lines(path.read_text("utf-8")) for path in (PACKAGE / "tensors" / "core").glob("*.py")) < 1_200
