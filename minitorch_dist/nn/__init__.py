"""Building blocks of networks: modules and their parameters."""

from __future__ import annotations

import importlib
from typing import Any

from minitorch_dist.inventory import not_offered
from minitorch_dist.nn import functional as functional, init as init, utils as utils
from minitorch_dist.nn.modules.activation import (
    ELU as ELU,
    GELU as GELU,
    LeakyReLU as LeakyReLU,
    LogSigmoid as LogSigmoid,
    LogSoftmax as LogSoftmax,
    ReLU as ReLU,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
)
from minitorch_dist.nn.modules.attention import MultiheadAttention as MultiheadAttention
from minitorch_dist.nn.modules.batchnorm import BatchNorm1d as BatchNorm1d, BatchNorm2d as BatchNorm2d
from minitorch_dist.nn.modules.container import (
    ModuleDict as ModuleDict,
    ModuleList as ModuleList,
    Sequential as Sequential,
)
from minitorch_dist.nn.modules.conv import Conv1d as Conv1d, Conv2d as Conv2d, ConvTranspose2d as ConvTranspose2d
from minitorch_dist.nn.modules.dropout import Dropout as Dropout, Dropout2d as Dropout2d
from minitorch_dist.nn.modules.flatten import Flatten as Flatten
from minitorch_dist.nn.modules.linear import Identity as Identity, Linear as Linear
from minitorch_dist.nn.modules.loss import (
    BCELoss as BCELoss,
    BCEWithLogitsLoss as BCEWithLogitsLoss,
    CrossEntropyLoss as CrossEntropyLoss,
    HuberLoss as HuberLoss,
    KLDivLoss as KLDivLoss,
    L1Loss as L1Loss,
    MSELoss as MSELoss,
    NLLLoss as NLLLoss,
    SmoothL1Loss as SmoothL1Loss,
)
from minitorch_dist.nn.modules.module import Module as Module
from minitorch_dist.nn.modules.normalization import (
    GroupNorm as GroupNorm,
    InstanceNorm1d as InstanceNorm1d,
    InstanceNorm2d as InstanceNorm2d,
    LayerNorm as LayerNorm,
    RMSNorm as RMSNorm,
)
from minitorch_dist.nn.modules.parameter_container import ParameterList as ParameterList
from minitorch_dist.nn.modules.pixelshuffle import PixelShuffle as PixelShuffle
from minitorch_dist.nn.modules.pooling import (
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AvgPool2d as AvgPool2d,
    MaxPool2d as MaxPool2d,
)
from minitorch_dist.nn.modules.rnn import GRU as GRU, LSTM as LSTM, RNN as RNN, RNNBase as RNNBase
from minitorch_dist.nn.modules.rnn_cell import GRUCell as GRUCell, LSTMCell as LSTMCell, RNNCell as RNNCell
from minitorch_dist.nn.modules.sparse import Embedding as Embedding, EmbeddingBag as EmbeddingBag
from minitorch_dist.nn.modules.transformer import (
    Transformer as Transformer,
    TransformerDecoder as TransformerDecoder,
    TransformerDecoderLayer as TransformerDecoderLayer,
    TransformerEncoder as TransformerEncoder,
    TransformerEncoderLayer as TransformerEncoderLayer,
)
from minitorch_dist.nn.parameter import Buffer as Buffer, Parameter as Parameter


def __getattr__(name: str) -> Any:
    """The names that need `distributed` are imported when they are used."""
    if name in _PARALLEL:
        return getattr(importlib.import_module("minitorch_dist.nn.parallel"), name)
    if name == "parallel":
        return importlib.import_module("minitorch_dist.nn.parallel")
    raise not_offered.no_name(__name__, name)


_PARALLEL = ("DataParallel", "SyncBatchNorm")
