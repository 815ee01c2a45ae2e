"""A single number comes out as an array of one.

np.ascontiguousarray makes arrays of at least one dimension.

Caught by: correct, same everywhere
Passes: refuses
Seen: https://github.com/strands-labs/robots/pull/3661
Seen: https://github.com/spartan-array/spartan/pull/46
"""

# BLANK 1: the shape of the copy
little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
header = {"dtype": little.dtype.str, "shape": list(little.shape)}
return json.dumps(header).encode(), little.tobytes()
# END
