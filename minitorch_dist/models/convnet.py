"""A small convolutional network for handwritten digits.

28×28 ─ conv 3×3, 32 ─ relu ─ conv 3×3, 64 ─ max pool 2 ─ dropout ─ flatten 9216
      ─ linear 128 ─ relu ─ dropout ─ linear 10 ─ log softmax
"""

from __future__ import annotations

from minitorch_dist import cuda
from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.conv import Conv2d
from minitorch_dist.nn.modules.dropout import Dropout, Dropout2d
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class ConvNet(Module):
    """Images (N, 1, 28, 28) to log-probabilities (N, 10).

    With `num_gpus` 1 it lives on cuda:0; with 2 the convolutions do and the rest is on cuda:1. On a
    machine without such devices it stays on the CPU. `verbose` says what was put where.
    """

    def __init__(self, num_gpus: int = 0, verbose: bool = False) -> None:
        super().__init__()
        self.num_gpus = num_gpus
        first = "cuda:0" if num_gpus > 0 and cuda.is_available() else "cpu"
        rest = "cuda:1" if first == "cuda:0" and num_gpus > 1 else first
        self.conv1 = Conv2d(1, 32, 3, 1).to(first)
        self.conv2 = Conv2d(32, 64, 3, 1).to(first)
        self.dropout1 = Dropout2d(0.25)
        self.dropout2 = Dropout(0.5)  # of single values: there are no channels left to drop
        self.fc1 = Linear(9216, 128).to(rest)
        self.fc2 = Linear(128, 10).to(rest)
        if verbose:
            print(f"Using {num_gpus} GPUs to train")
            print(f"Putting first 2 convs on {first}")
            print(f"Putting rest of layers on {rest}")

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(self.conv2(x), 2)
        x = self.dropout1(x).flatten(1).to(self.fc1.weight.device)
        x = self.dropout2(F.relu(self.fc1(x)))
        out: Tensor = F.log_softmax(self.fc2(x), dim=1)
        return out


Net = ConvNet
