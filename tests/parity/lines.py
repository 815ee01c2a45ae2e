"""One expression a line: evaluated with `t` as torch and as minitorch_dist, and compared.

`a(shape)` is the same array of numbers for both, as a tensor that requires grad. Its values depend on
the shape and on `seed`; they are floats in [-2, 2) unless another dtype is named.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.parity.compare import same, torch

KINDS = {"bfloat16": ml_dtypes.bfloat16}


def array(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng((seed, *shape))
    kind = np.dtype(KINDS.get(dtype, dtype))
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        return rng.integers(0 if kind.kind == "u" else -5, 6, shape).astype(kind)
    return rng.uniform(-2, 2, shape).astype(kind)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def spd(n: int, *batch: int) -> np.ndarray[Any, Any]:
    """Symmetric positive definite matrices."""
    x = array(*batch, n, n, dtype="float64")
    return (x @ x.swapaxes(-1, -2) + np.eye(n)).astype(np.float64)


def check(line: str, **options: Any) -> None:
    """`line` gives the same in both, values and gradients."""
    arrays, body = _split(line)
    same(body, *arrays, **options)


def refuses(line: str) -> None:
    """`line` raises in both, with related types."""
    arrays, body = _split(line)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception):  # noqa: B017 - whatever torch raises
            body(torch, *[torch.from_numpy(x.copy()) for x in arrays])
    same(body, *arrays, grad=False)


def _split(line: str) -> tuple[list[Any], Any]:
    """The arrays that `a(…)` and `spd(…)` in `line` stand for, and the rest as a function of them."""
    tree = ast.parse(line, mode="eval")
    arrays: list[Any] = []

    class Lift(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> Any:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name) and node.func.id in ("a", "spd"):
                code = compile(ast.Expression(ast.fix_missing_locations(node)), "<a>", "eval")
                arrays.append(eval(code, {"a": array, "spd": spd}))
                return ast.Name(f"x{len(arrays) - 1}", ast.Load())
            return node

    code = compile(ast.fix_missing_locations(Lift().visit(tree)), line, "eval")

    def body(t: Any, *tensors: Any) -> Any:
        names = {f"x{i}": x for i, x in enumerate(tensors)}
        if "F." in line:
            names["F"] = t.nn.functional
        return eval(code, {"t": t, "np": np, **names})

    return arrays, body
