"""Why some views must not be written to while recording, in words.

A view carries such a note when the graph could not say what the write means. Such a view was made
while nothing was recorded, or it is one of several outputs of one node.
"""

from __future__ import annotations

from typing import Final

from minitorch_dist.tensors.core import rare_cases
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.views import INFERENCE, NO_GRAD

_AMBIGUOUS: Final = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {block} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
MULTI: Final = (
    "Output {nr} of {name} is a view and {what}. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace. You "
    "should replace the inplace operation by an out-of-place one."
)
CUSTOM: Final = (
    "Output {nr} of {name} is a view and {what}. This view was created inside a custom Function (or "
    "because an input was returned as-is) and the autograd logic to handle view+inplace would "
    "override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
    "Function."
)
_TEXTS: Final = {
    NO_GRAD: "A view was created in no_grad mode and {what} with grad mode enabled."
    + _AMBIGUOUS.replace("{block}", "no_grad"),
    INFERENCE: "A view was created in inference mode and {what} in normal mode."
    + _AMBIGUOUS.replace("{block}", "inference_mode"),
}


def refusal(view: TensorBase, written: TensorBase) -> RuntimeError:
    """The error for a recorded write to `written`, which may be the view itself or its base."""
    node = view._grad_fn
    text = _TEXTS.get(view._view_note, view._view_note)
    return RuntimeError(
        text.format(
            nr=view._output_nr,
            name="a function"
            if node is None
            else node.name().rstrip("01").removesuffix("Backward"),
            what="is being modified inplace"
            if written is view
            else "its base or another view of its base has been modified inplace",
        )
    )


rare_cases.refusal = refusal
