"""The numbers are repeated in new memory. All values are right, and the row takes a thousand times its bytes.

Caught by: no copy
Passes: shapes, strides, sum_to, plugged in
"""

import numpy as np


def expand(tensor, *shape):
    array = tensor.array
    times = [
        wanted if size != wanted else 1
        for size, wanted in zip(aligned(array.shape, len(shape), 1), shape, strict=True)
    ]
    return tensor.window(np.tile(array, times))
