"""Whether operations are being recorded. The mode belongs to the thread that sets it; a new thread records.

`tensors.autograd.grad_modes` sets it: `no_grad`, `enable_grad`, `inference_mode`.
"""

from __future__ import annotations

from contextvars import ContextVar

OFF, ON, INFERENCE = 0, 1, 2

mode: ContextVar[int] = ContextVar("grad_mode", default=ON)
current_mode = mode.get
