"""How two values become one: the function of every reduce op, for whole arrays.

Wherever a message is reduced on arrival, `combine(mine, theirs, out=mine)` is one of these. Sums of
float16 and bfloat16 are added in float32 and rounded once per step, as the hardware does; integers
wrap; for bool a sum is `or` and a product `and`. `avg` and `premul_sum` are sums whose factor the
collective applies before or after. A nan stays a nan in min and max.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np


class Combine(Protocol):
    """A binary function of arrays that can write its result into one of them."""

    def __call__(self, mine: Any, theirs: Any, /, out: Any) -> Any: ...


COMBINES: Final[dict[str, Combine]] = {
    "sum": np.add,
    "avg": np.add,
    "premul_sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}
