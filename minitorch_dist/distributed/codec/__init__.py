"""Python values as bytes: the typed codec of RPC and of the calls that send objects.

    value ──► Writer ──► meta (one run of bytes)  +  buffers (the large arrays, where they are)
    value ◄── Reader ◄── meta                     +  buffers (as they came from the wire)      (`writer_and_reader`)

Numbers, texts and containers (`plain`), arrays and tensors (`arrays`) and exceptions (`failures`) are described
byte by byte (`kinds`) and rebuilt without running anything. Functions and classes travel by name (`names`), if they
were registered (`registry`). Nothing else is sent, unless a caller trusts the other side in full (`trust`). Then
any name that can be imported is found, and a value without a form is pickled (`pickled`). RPC and the calls that
send objects trust their peers so, unless MINITORCH_DIST_ALLOW_PICKLE=0. `others` are types of the layers above.
`packing` puts meta and buffers in a row. `errors` has the errors.
"""

from minitorch_dist.distributed.codec import (  # each puts its functions into the tables
    arrays as arrays,
    failures as failures,
    pickled as pickled,
    plain as plain,
)
from minitorch_dist.distributed.codec.errors import (
    CodecError as CodecError,
    DamagedEncoding as DamagedEncoding,
    UnknownName as UnknownName,
    Unsendable as Unsendable,
)
from minitorch_dist.distributed.codec.packing import pack as pack, unpack as unpack
from minitorch_dist.distributed.codec.registry import register as register
from minitorch_dist.distributed.codec.trust import Trust as Trust
from minitorch_dist.distributed.codec.writer_and_reader import (
    Reader as Reader,
    Writer as Writer,
    decode as decode,
    encode as encode,
)
