"""The number of elements is multiplied in 64 bits.

2^32 · 2^32 is 0 there, which is just the length of an empty payload.

Caught by: refuses
Passes: correct, same everywhere, frozen
Seen: https://github.com/leejet/stable-diffusion.cpp/issues/1876
"""

# BLANK 2: np.prod wraps round
if dtype not in DTYPES or not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
    raise BadMessage(f"{fields} is no dtype and shape")
if not all(type(extent) is int and 0 <= extent < 1 << 63 for extent in shape):
    raise BadMessage(f"{shape!r} is no shape")
if len(payload) != int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize:
    raise BadMessage(f"{len(payload)} bytes are not {shape} of {dtype}")
return np.frombuffer(payload, dtype).reshape(shape).copy()
# END
