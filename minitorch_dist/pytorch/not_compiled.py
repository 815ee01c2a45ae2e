"""`torch.compile` leaves these methods as they are. C++ calls them within a compiled program, too: DDP's reducer does, and the
compiler would compile each of them, with all that it calls.
"""

from __future__ import annotations

from types import FunctionType
from typing import TypeVar

import torch

Kind = TypeVar("Kind", bound=type)


def not_compiled(kind: Kind) -> Kind:
    """Let the compiler skip the methods of a class, and what they call. A torch without this function is left as it is."""
    frames = torch._C._dynamo.eval_frame
    if not hasattr(frames, "set_code_exec_strategy"):
        return kind
    skip = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    for method in vars(kind).values():
        if isinstance(method, FunctionType):
            frames.set_code_exec_strategy(method.__code__, skip)
    return kind
