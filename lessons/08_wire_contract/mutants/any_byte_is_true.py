"""Every byte is taken for a bool.

numpy makes an array of bools from any bytes, and takes 2 for true. Then two arrays that are equal have other bytes, so
their checksums differ, and code that was compiled for 0 and 1 may compute with the 2.

Caught by: refuses
Passes: correct, frozen
"""

# BLANK 2: all but the bytes themselves
if dtype not in DTYPES:
    raise BadMessage(f"there is no dtype {dtype!r} in messages")
if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
    raise BadMessage(f"{shape!r} is no shape")
if not all(type(extent) is int and extent >= 0 for extent in shape):
    raise BadMessage(f"{shape!r} is no shape")
size = np.dtype(dtype).itemsize
if len(payload) != math.prod(shape) * size:
    raise BadMessage(f"{len(payload)} bytes are not {shape} of {dtype}")
if math.prod(max(extent, 1) for extent in shape) * size > MAX_PAYLOAD:
    raise BadMessage(f"{shape} is too much, even if a part of it is nothing")
return np.frombuffer(payload, dtype).reshape(shape).copy()
# END
