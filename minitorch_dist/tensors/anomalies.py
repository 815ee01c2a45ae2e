"""`detect_anomaly`: it notes the line that recorded each node, and looks for nan in its gradients."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.graph import Gradient

anomaly = False
check_nan = True
_HERE: Final = str(Path(__file__).parent)


def set_anomaly(mode: bool, nan: bool = True) -> None:
    """For the whole process, as in torch."""
    global anomaly, check_nan
    anomaly, check_nan = bool(mode), bool(nan)
    observers.nodes.listen_everywhere(_note_stack, anomaly)
    observers.stand_around(_checked, anomaly)


def _note_stack(node: TorchNode) -> None:
    """Remember where the user called, without the frames of this package."""
    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith(_HERE):
        stack.pop()
    node.metadata["traceback_"] = traceback.format_list(stack)


def _checked(node: TorchNode, execute: observers.Execute) -> observers.Execute:
    """`execute`, and a warning with the noted line if it fails or returns nan."""

    def run(grads: Sequence[Gradient]) -> Sequence[Gradient]:
        try:
            results = execute(grads)
            _check_for_nan(node.name_, results)
        except Exception:
            _report(node)
            raise
        return results

    return run


def _report(node: TorchNode) -> None:
    """Warn that the gradient of this node failed, and say where it was recorded."""
    stack = node.metadata.get("traceback_")
    recorded = (
        "No forward pass information available. Enable detect anomaly during forward pass for more."
        if stack is None
        else "Traceback of forward call that caused the error:\n" + "".join(stack)
    )
    warnings.warn(f"Error detected in {node.name()}. {recorded}", UserWarning, stacklevel=2)


def _check_for_nan(name: str, results: Sequence[Any]) -> None:
    if not check_nan:
        return
    for index, grad in enumerate(results):
        if grad is not None and np.isnan(grad).any():
            raise RuntimeError(f"Function '{name}' returned nan values in its {index}th output.")
