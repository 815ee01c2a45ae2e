"""A message that is exactly as large as the contract allows is refused.

`>=` for `>`: one dimension less, and one byte less, than both sides have agreed on.

Caught by: correct
Passes: same everywhere, frozen, refuses
"""

# BLANK 2: the limits belong to what is allowed
if dtype not in DTYPES:
    raise BadMessage(f"there is no dtype {dtype!r} in messages")
if not isinstance(shape, list) or len(shape) >= MAX_DIMENSIONS:
    raise BadMessage(f"{shape!r} is no shape")
if not all(type(extent) is int and extent >= 0 for extent in shape):
    raise BadMessage(f"{shape!r} is no shape")
size = np.dtype(dtype).itemsize
if len(payload) != math.prod(shape) * size:
    raise BadMessage(f"{len(payload)} bytes are not {shape} of {dtype}")
if math.prod(max(extent, 1) for extent in shape) * size >= MAX_PAYLOAD:
    raise BadMessage(f"{shape} is too much, even if a part of it is nothing")
if dtype == "|b1" and max(payload, default=0) > 1:
    raise BadMessage("a byte of a bool is 0 or 1")
return np.frombuffer(payload, dtype).reshape(shape).copy()
# END
