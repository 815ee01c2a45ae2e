"""Arrays that a gradient function keeps though no tensor holds them: how to make them of what it has read.

The key is the function's module and name, the value a function of what its closure keeps and of the arrays that
its node has read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.double_backward.recording_array import constant, recording

_OPS = "minitorch_dist.tensors.ops."
Cells = Mapping[str, Any]


def _cross_entropy(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    x, axis, kind = reads[0], cells["axis"], cells["work"].dtype
    wide = x.astype(kind, copy=False)
    powers = np.exp(wide - np.maximum.reduce(np.asarray(wide), axis=axis, keepdims=True))
    total = np.add.reduce(powers, axis=axis)
    return {"x": x, "work": np.empty(0, kind), "powers": powers, "total": total}


def _difference(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return {"difference": reads[0] - reads[1]}


def _only_its_type(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return {"values": np.empty(0, cells["values"].dtype)}


def _logistic_loss(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    made = {"small": np.exp(-np.abs(reads[0])), "w": cells["w"]}
    if isinstance(cells["factor"], np.generic):  # there is no pos_weight
        made["factor"] = cells["factor"]
    return made


def _norm(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return {"wide": reads[1].reshape(cells["wide"].shape)}


def _like(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    """Only the shape and the type of `x` count."""
    return {"x": recording(constant(cells["x"]))}


def _as_it_is(*names: str) -> Callable[[Cells, Sequence[Any]], dict[str, Any]]:
    """These are numbers that the caller of the operation gave."""
    return lambda cells, reads: {name: cells[name] for name in names}


def _knee(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return _difference(cells, reads) | {"knee": cells["knee"], "steep": cells["steep"]}


def _halves(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    """Those of a gated linear unit."""
    x, along, size = reads[0], cells["along"], cells["b"].shape[cells["along"]]
    before = (slice(None),) * along
    return {"a": x[(*before, slice(0, size))], "b": x[(*before, slice(size, None))]}


def _slope_of_each_channel(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return {"slope": reads[1].reshape(cells["slope"].shape)} if "slope" in cells else {}


def _divergence(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    made = {"p": reads[1]}
    if not np.array_equal(np.asarray(reads[1]), cells["p"]):  # the target is a logarithm
        made["p"] = np.exp(reads[1])
    if "values" in cells:
        made["values"] = np.empty(cells["values"].shape)
    if "log_y" in cells:
        made["log_y"] = reads[1] if made["p"] is not reads[1] else np.empty(0)
    return made


REMADE: dict[str, Callable[[Cells, Sequence[Any]], dict[str, Any]]] = {
    _OPS + "along_axes.norms.vector_norm.<locals>.backward": _norm,
    _OPS + "elementwise.comparison.where.<locals>.<lambda>": _as_it_is("zero"),
    _OPS + "elementwise.extremes.clamp.<locals>.inside": _as_it_is("low", "high"),
    _OPS + "layers.activations.glu.<locals>.backward": _halves,
    _OPS + "layers.classification.cross_entropy.<locals>.backward": _cross_entropy,
    _OPS + "layers.classification.nll_loss.<locals>.backward": _like,
    _OPS + "layers.losses.binary_cross_entropy_with_logits.<locals>.slope": _logistic_loss,
    _OPS + "layers.losses.compare.<locals>.vjp.<locals>.back": _only_its_type,
    _OPS + "layers.losses._knee.<locals>.slope": _knee,
    _OPS + "layers.losses.kl_div.<locals>.<lambda>": _divergence,
    _OPS + "layers.losses.kl_div.<locals>.of_target": _divergence,
    _OPS + "layers.losses.l1_loss.<locals>.<lambda>": _difference,
    _OPS + "layers.losses.mse_loss.<locals>.<lambda>": _difference,
    _OPS + "layers.rectifiers.prelu.<locals>.<lambda>": _slope_of_each_channel,
}

CONSTANTS = {_OPS + "layers.classification.ClassChoice"}
"""Classes of objects that hold nothing that depends on the inputs of a node."""


def named(thing: Any) -> str:
    """The module and name of a function or a class."""
    return f"{thing.__module__}.{thing.__qualname__}"
