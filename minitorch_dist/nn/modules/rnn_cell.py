"""Single steps of recurrent layers, for loops of your own: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from minitorch_dist.nn import init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.ops.layers import recurrent
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor


class RNNCellBase(Module):
    """One step of a recurrent layer, for loops of your own."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    _states: ClassVar[int] = 1

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self._mode = mode
        rows = recurrent.GATES[mode] * hidden_size
        self.weight_ih = Parameter(creation.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(creation.empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(creation.empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={getattr(self, 'nonlinearity', '')}"
        return text

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        given = [] if hx is None else list(hx) if self._states > 1 else [hx]
        for number, state in enumerate(given):
            if state.dim() not in (1, 2):
                what = "hidden" if self._states == 1 else f"hx[{number}]"
                raise ValueError(
                    f"{name}: Expected {what} to be 1D or 2D, got {state.dim()}D instead"
                )
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
            given = [state.unsqueeze(0) for state in given]
        if hx is None:
            batch = input.size(0)
            given = [
                creation.zeros(batch, self.hidden_size, dtype=input.dtype, device=input.device)
            ] * self._states
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None]
        c0 = given[1] if self._states > 1 else None
        _, *lasts = recurrent.layer(self._mode, input, [input.size(0)], given[0], c0, weights)
        lasts = [last.squeeze(0) for last in lasts] if single else lasts
        return tuple(lasts) if self._states > 1 else lasts[0]


class RNNCell(RNNCellBase):
    """One step of RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(RNNCellBase):
    """One step of LSTM: (h, c) in, (h, c) out."""

    _states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)


class GRUCell(RNNCellBase):
    """One step of GRU."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)
