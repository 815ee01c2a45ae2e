"""Arrays that a gradient function keeps though no tensor holds them: how to make them of what it has read.

The key is the function's module and name, the value a function of what its closure keeps and of the arrays that
its node has read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.double_backward.recording_array import constant, history_of, recording
from minitorch_dist.tensors.ops.linear_algebra import pseudoinverse

_OPS = "minitorch_dist.tensors.ops."
_EXTRAS = "minitorch_dist.tensors.extras."
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
    made = {name: cells[name] for name in ("w", "q") if name in cells}
    small = np.exp(-np.abs(reads[0]))
    if "small" in cells:
        made["small"] = small
    if "softplus" in cells:
        made["softplus"] = np.log1p(small) + np.maximum(-reads[0], 0)
    return made


def _log_loss(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    made = {name: cells[name] for name in ("w", "tiny") if name in cells}
    if "log_p" in cells:
        made |= {"log_p": np.log(reads[0]), "log_q": np.log1p(-reads[0])}
    return made


def _soft_classes(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    """Cross entropy with a distribution: `claims` are linear in it."""
    x, target, axis = reads[0], reads[1], cells["axis"]
    smoothing, factors = cells["label_smoothing"], cells["factors"]
    wide = x.astype(cells["work"].dtype, copy=False)
    shifted = wide - np.maximum.reduce(np.asarray(wide), axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = np.add.reduce(powers, axis=axis, keepdims=True)
    claims = target.astype(wide.dtype, copy=False) * (1 - smoothing) + smoothing / x.shape[axis]
    return {
        "factors": factors, "powers": powers, "total": total, "log_p": shifted - np.log(total),
        "claims": claims if factors is None else claims * factors,
        "work": np.empty(0, cells["work"].dtype), "values": np.empty(cells["values"].shape), "x": x,
    }  # fmt: skip


def _smoothed_classes(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return _cross_entropy(cells, reads) | {"per_class": cells["per_class"]}


def _norm(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    return {"wide": reads[1].reshape(cells["wide"].shape)}


def _like(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    """Only the shape and the type of `x` count."""
    return {"x": recording(constant(cells["x"]))}


def _as_it_is(*names: str) -> Callable[[Cells, Sequence[Any]], dict[str, Any]]:
    """These are numbers that the caller of the operation gave."""
    return lambda cells, reads: {name: cells[name] for name in names}


def _numbers(*names: str) -> Callable[[Cells, Sequence[Any]], dict[str, Any]]:
    """As `_as_it_is`, where it is a number: of a tensor, the place in the graph is known."""
    return lambda cells, reads: {n: cells[n] for n in names if isinstance(cells[n], np.generic)}


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


def _weights(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    """Places between two elements: they depend on their number alone."""
    return {"weight": cells["weight"]}


def _least_squares(cells: Cells, reads: Sequence[Any]) -> dict[str, Any]:
    inverse = history_of(reads[0])
    return {"p": recording(pseudoinverse.known_inverse(inverse, cells["p"]))}


REMADE: dict[str, Callable[[Cells, Sequence[Any]], dict[str, Any]]] = {
    _OPS + "along_axes.norms.vector_norm.<locals>.backward": _norm,
    _OPS + "along_axes.quantiles._quantile.<locals>.backward": _weights,
    _OPS + "elementwise.comparison.choose.<locals>.<lambda>": _numbers("zero"),
    _OPS + "elementwise.comparison.where.<locals>.<lambda>": _as_it_is("zero"),
    _OPS + "elementwise.extremes.clamp.<locals>.inside": _as_it_is("low", "high"),
    _OPS + "elementwise.mixtures.lerp.<locals>.<lambda>": _numbers("w"),
    _OPS + "layers.activations.glu.<locals>.backward": _halves,
    _OPS + "layers.classification.cross_entropy.<locals>.backward": _cross_entropy,
    _OPS + "layers.classification._smoothed.<locals>.backward": _smoothed_classes,
    _OPS + "layers.classification._with_probabilities.<locals>.backward": _soft_classes,
    _OPS + "layers.classification.nll_loss.<locals>.backward": _like,
    _OPS + "layers.dropout._alpha_drop.<locals>.<lambda>": _as_it_is("scale"),
    _OPS + "layers.losses.binary_cross_entropy.<locals>.<lambda>": _log_loss,
    _OPS + "layers.losses.binary_cross_entropy_with_logits.<locals>.<lambda>": _logistic_loss,
    _OPS + "layers.losses.binary_cross_entropy_with_logits.<locals>.growth": _logistic_loss,
    _OPS + "layers.losses.binary_cross_entropy_with_logits.<locals>.slope": _logistic_loss,
    _OPS + "layers.losses.compare.<locals>.vjp.<locals>.back": _only_its_type,
    _OPS + "layers.losses._knee.<locals>.slope": _knee,
    _OPS + "layers.losses.kl_div.<locals>.<lambda>": _divergence,
    _OPS + "layers.losses.kl_div.<locals>.of_target": _divergence,
    _OPS + "layers.losses.l1_loss.<locals>.<lambda>": _difference,
    _OPS + "layers.losses.mse_loss.<locals>.<lambda>": _difference,
    _OPS + "layers.random_activations.rrelu.<locals>.<lambda>": _as_it_is("slope"),
    _OPS + "layers.rectifiers.prelu.<locals>.<lambda>": _slope_of_each_channel,
    _OPS + "linear_algebra.pseudoinverse.lstsq.<locals>.of_a": _least_squares,
    _OPS + "linear_algebra.pseudoinverse.lstsq.<locals>.of_b": _least_squares,
    _OPS + "statistics.differences._slope.<locals>.vjp": _as_it_is("weights"),
    _EXTRAS + "elementwise.exponentials.logaddexp2.<locals>.<lambda>": _numbers("ln2"),
    _EXTRAS + "elementwise.trigonometry._scaled.<locals>.<lambda>": _numbers("c"),
    _EXTRAS + "indexing.scatter_reduction.scatter_reduce.<locals>.<lambda>": _as_it_is("nothing"),
}

CONSTANTS = {_OPS + "layers.classification.ClassChoice"}
"""Classes of objects that hold nothing that depends on the inputs of a node."""


def named(thing: Any) -> str:
    """The module and name of a function or a class."""
    return f"{thing.__module__}.{thing.__qualname__}"
