"""Bytes that are no message come out as None.

All refusals are there, and none is an error. The caller goes on with None, and fails somewhere else.

Caught by: refuses
Passes: correct, same everywhere, frozen
"""

# BLANK 2: refuse what `encode` would never write; then make the array (about 10 lines)
if dtype not in DTYPES or not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
    return None
if any(type(extent) is not int or extent < 0 for extent in shape):
    return None
itemsize = np.dtype(dtype).itemsize
if math.prod(shape) * itemsize != len(payload):
    return None
if math.prod(max(extent, 1) for extent in shape) * itemsize > MAX_PAYLOAD:
    return None
return np.frombuffer(payload, dtype).reshape(shape).copy()
# END
