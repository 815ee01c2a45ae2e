"""Python values as bytes: the typed codec of RPC and of the calls that send objects.

    value ──► writer ──► meta (one run of bytes)  +  buffers (the large arrays, where they are)
    value ◄── reader ◄── meta                     +  buffers (as they came from the wire)

Numbers, texts, containers, arrays, tensors, dtypes, devices and exceptions are described byte by byte
(`kinds`) and rebuilt without running anything. Functions and classes travel by name (`names`). What
is none of these is pickled (`pickled`), and that alone can be turned off:
MINITORCH_DIST_ALLOW_PICKLE=0. Then no sequence of bytes causes an import, or a call of anything that
was not registered (`trust`). Peers have proved that they hold the job's key before any of this is read.
"""

from minitorch_dist.distributed.codec.errors import (
    CodecError as CodecError,
    Damaged as Damaged,
    UnknownName as UnknownName,
    Unsendable as Unsendable,
)
from minitorch_dist.distributed.codec.names import register as register
from minitorch_dist.distributed.codec.packing import pack as pack, unpack as unpack
from minitorch_dist.distributed.codec.reader import Reader as Reader, decode as decode
from minitorch_dist.distributed.codec.writer import Writer as Writer, encode as encode
