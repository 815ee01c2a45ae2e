"""Single steps of recurrent layers, for loops of your own: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from minitorch_dist.nn import init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.ops.layers import recurrent
from minitorch_dist.tensors.tensor import Tensor


class RNNCellBase(Module):
    """One step of a recurrent layer, for loops of your own."""

    mode: ClassVar[str]
    states: ClassVar[int] = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = recurrent.GATES[self.mode] * hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, input_size),
            "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,),
            "bias_hh": (rows,),
        }
        for name, shape in shapes.items():
            wanted = bias or name.startswith("weight")
            empty = creation.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if empty is None else Parameter(empty))
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias={self.bias}"

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        single = input.dim() == 1
        rows: Any = input.unsqueeze(0) if single else input
        if hx is None:
            shape = (rows.size(0), self.hidden_size)
            zeros = creation.zeros(shape, dtype=rows.dtype, device=rows.device)
            given = [zeros] * self.states
        else:
            given = list(hx) if self.states > 1 else [hx]
            given = [state.unsqueeze(0) for state in given] if single else given
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]
        c0 = given[1] if self.states > 1 else None
        _, *lasts = recurrent.layer(self.mode, rows.unsqueeze(0), given[0], c0, weights)
        lasts = [last.squeeze(0) for last in lasts] if single else lasts
        return tuple(lasts) if self.states > 1 else lasts[0]


class RNNCell(RNNCellBase):
    """One step of RNN, with tanh."""

    mode = "RNN_TANH"


class LSTMCell(RNNCellBase):
    """One step of LSTM: (h, c) in, (h, c) out."""

    mode, states = "LSTM", 2


class GRUCell(RNNCellBase):
    """One step of GRU."""

    mode = "GRU"
