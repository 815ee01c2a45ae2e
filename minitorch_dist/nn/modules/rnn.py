"""Recurrent layers: RNN, LSTM and GRU, stacked and in both directions. (Single steps: `rnn_cell`.)

The work is done by `tensors.ops.recurrent`, one call per layer and direction. Here is what surrounds
it: parameters with torch's names, initial states, and dropout between layers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.ops.layers import recurrent
from minitorch_dist.tensors.ops.shapes.joining import cat, stack
from minitorch_dist.tensors.tensor import Tensor


class RNNBase(Module):
    """The common part of RNN, LSTM and GRU. Parameters are named weight_ih_l0, …, bias_hh_l1_reverse."""

    states: ClassVar[int] = 1

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(
                "hidden_size and num_layers must be greater than zero, but got "
                f"hidden_size={hidden_size} and num_layers={num_layers}"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout should be a number in range [0, 1], but got {dropout}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}",
                stacklevel=3,
            )
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        directions = 2 if bidirectional else 1
        rows = recurrent.GATES[mode] * hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * directions
            for direction in range(directions):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                names = []
                for kind, shape in shapes.items():
                    names.append(f"{kind}_l{layer}" + ("_reverse" if direction else ""))
                    empty = creation.empty(shape, device=device, dtype=dtype)
                    setattr(self, names[-1], Parameter(empty))
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Everything uniform in ±1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing to do: this is about the memory layout of CUDA."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    # ------------------------------------------------------------------------------------ forward

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """Returns (outputs of the last layer, last states of all layers)."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        single = input.dim() == 2
        if single:
            input = input.unsqueeze(0 if self.batch_first else 1)
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        if self.batch_first:
            input = input.transpose(0, 1)
        output, lasts = self._layers(input, self._states(hx, input.size(1), input, single))
        if self.batch_first:
            output = output.transpose(0, 1)
        if single:
            output = output.squeeze(0 if self.batch_first else 1)
            lasts = [last.squeeze(1) for last in lasts]
        return output, tuple(lasts) if self.states > 1 else lasts[0]

    def _layers(self, data: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Through all layers and directions; the states are (layers·directions, batch, size)."""
        directions = 2 if self.bidirectional else 1
        lasts: list[list[Tensor]] = [[] for _ in states]
        for number in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                place = number * directions + direction
                names = self._all_weights[place]
                named = {name.split("_l")[0]: getattr(self, name) for name in names}
                weights = [named.get(kind) for kind in _KINDS]
                h0 = states[0][place]
                c0 = states[1][place] if len(states) > 1 else None
                output, *last = recurrent.layer(self.mode, data, h0, c0, weights, reverse=direction == 1)
                outputs.append(output)
                for kept, value in zip(lasts, last, strict=True):
                    kept.append(value)
            data = outputs[0] if directions == 1 else cat(outputs, 2)
            if self.dropout and self.training and number < self.num_layers - 1:
                data = F.dropout(data, self.dropout, True)
        return data, [stack(kept) for kept in lasts]

    def _states(self, hx: Any, batch: int, like: Tensor, single: bool) -> list[Tensor]:
        """The initial states, zeros where none are given; checked."""
        places = self.num_layers * (2 if self.bidirectional else 1)
        shape = (places, batch, self.hidden_size)
        if hx is None:
            return [creation.zeros(shape, dtype=like.dtype, device=like.device) for _ in range(self.states)]
        given = list(hx) if self.states > 1 else [hx]
        expected = (places, self.hidden_size) if single else shape
        for state in given:
            if tuple(state.shape) != expected:
                raise RuntimeError(f"Expected hidden size {expected}, got {list(state.shape)}")
        return [state.unsqueeze(1) for state in given] if single else given


_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with nonlinearity="relu"."""

    forward: Callable[..., tuple[Tensor, Tensor]]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self_mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            self_mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; the state is (h, c)."""

    forward: Callable[..., tuple[Tensor, tuple[Tensor, Tensor]]]

    states = 2

    def __init__(self, input_size: int, hidden_size: int, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", input_size, hidden_size, *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    forward: Callable[..., tuple[Tensor, Tensor]]

    def __init__(self, input_size: int, hidden_size: int, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", input_size, hidden_size, *args, **kwargs)
