"""torch.sparse: matrices by coordinates, and their products with dense ones."""

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.extras.sparse import (
    addmm as addmm,
    legacy,
    mm as mm,
    softmax as softmax,
    sum as sum,
)

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

FloatTensor = legacy(dtypes.float32)
DoubleTensor = legacy(dtypes.float64)
LongTensor = legacy(dtypes.int64)
IntTensor = legacy(dtypes.int32)
