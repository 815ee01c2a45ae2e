"""The kernels of torch's build for CUDA, where `cuda` is a label and operations take time. Some functions are one kernel
there, and a row of small ones on the CPU. A run with `device=` prices what a GPU would do:

    nn.RMSNorm           one kernel forward and one backward      on the CPU: seven and fifteen
    nn.Dropout           one kernel, which draws and multiplies   on the CPU: four
    attention, dropout   in tiles, which drop weights in passing  on the CPU: matrices of all weights
    optimizers           lists of tensors (`foreach`)             on the CPU: one parameter after the other

Torch's dispatcher asks for a kernel by the name of an operation and by a key. So kernels are registered for the length of a
run. A program computes the same numbers up to rounding, although dropout draws other elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import functional as F
from torch.optim import optimizer

from minitorch_dist.pytorch.replacing import replaced, replaced_everywhere

# With a kernel of its own for the CPU, an operation is no longer split above autograd: it has its own gradient.
FUSED: Final = ("_fused_rms_norm", "_fused_rms_norm_backward")
DEVICES: Final = "_get_foreach_kernels_supported_devices"


@contextmanager
def in_place(has_shapes: bool) -> Iterator[None]:
    """For all ranks of a run; `has_shapes` if tensors have no numbers."""
    library = torch.library.Library("aten", "IMPL")
    try:
        for name in FUSED:
            library.impl(name, decomposition_table[getattr(torch.ops.aten, name).default], "CPU")
        library.impl("dropout", _dropout, "AutogradCPU")
        with ExitStack() as around:
            around.enter_context(replaced(optimizer, DEVICES, lambda: ["cpu"]))
            kinds = [*optimizer._foreach_supported_types, FakeTensor]
            around.enter_context(replaced(optimizer, "_foreach_supported_types", kinds))
            if has_shapes:
                function = F.scaled_dot_product_attention
                around.enter_context(replaced_everywhere(function, _in_tiles(function)))
            yield
    finally:
        library._destroy()


def _dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    if not train or p == 0 or not input.numel():
        return input
    return torch.native_dropout(input, p, train)[0]


def _in_tiles(original: Callable[..., Any]) -> Callable[..., Any]:
    def attention(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, *args: Any, **kwargs: Any
    ) -> Any:
        return original(query, key, value, attn_mask, 0.0, *args, **kwargs)

    return attention
