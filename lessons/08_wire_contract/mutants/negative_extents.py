"""An extent may be negative: two of them make a positive product, and numpy takes -1 for "whatever fits".

Caught by: refuses
Passes: correct, same everywhere, frozen
Seen: https://github.com/sonos/tract/pull/2795
"""

# BLANK 2: whole numbers, but which?
if dtype not in DTYPES or not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
    raise BadMessage(f"{fields} is no dtype and shape")
if not all(type(extent) is int for extent in shape):
    raise BadMessage(f"{shape!r} is no shape")
flat = np.frombuffer(payload, dtype)
try:
    return flat.reshape(shape).copy()
except ValueError as error:
    raise BadMessage(str(error)) from None
# END
