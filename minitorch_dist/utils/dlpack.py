"""DLPack under torch's old names."""

from minitorch_dist.tensors.ops.making.exchange import (
    from_dlpack as from_dlpack,
    to_dlpack as to_dlpack,
)
