"""Why some views must not be written to while recording, in words.

A view carries such a note when the graph could not say what the write means. Such a view was made
while nothing was recorded, or it is one of several outputs of one node.
"""

from __future__ import annotations

from typing import Final

from minitorch_dist.tensors.core import rare_cases
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.views import INFERENCE, NO_GRAD

_EITHER: Final = (
    " It is not clear whether the write is to be recorded: do both inside the {block} block, or both outside."
)
MULTI: Final = (
    "Output {nr} of {name} is a view and {what}. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace: clone() it."
)
CUSTOM: Final = (
    "Output {nr} of {name} is a view and {what}. This view was created inside a custom Function (or "
    "because an input was returned as-is), whose backward would not know of the write: clone() it."
)
_TEXTS: Final = {
    NO_GRAD: "A view was created in no_grad mode and {what} with grad mode enabled."
    + _EITHER.replace("{block}", "no_grad"),
    INFERENCE: "A view was created in inference mode and {what} in normal mode."
    + _EITHER.replace("{block}", "inference_mode"),
}


def refusal(view: TensorBase, written: TensorBase) -> RuntimeError:
    """The error for a recorded write to `written`, which may be the view itself or its base."""
    node = view._grad_fn
    text = _TEXTS.get(view._view_note, view._view_note)
    return RuntimeError(
        text.format(
            nr=view._output_nr,
            name="a function" if node is None else node.name().rstrip("01").removesuffix("Backward"),
            what="is being modified inplace"
            if written is view
            else "its base or another view of its base has been modified inplace",
        )
    )


rare_cases.refusal = refusal
