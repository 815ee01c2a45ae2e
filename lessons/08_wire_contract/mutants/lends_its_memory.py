"""The message is a view of the sender's array: fast, until the sender goes on computing.

Caught by: frozen
Passes: correct, same everywhere, refuses
"""

# BLANK 1: no copy where none is needed
little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
header = {"dtype": little.dtype.str, "shape": list(array.shape)}
return json.dumps(header).encode(), little.reshape(-1).view(np.uint8).data
# END
