"""The bytes are taken as they lie in memory, and the header says they are rows.

A transposed array comes out with other values, and nobody complains.

Caught by: correct, same everywhere
Passes: refuses
Seen: https://github.com/safetensors/safetensors/issues/825
"""

# BLANK 1: "A" is the order that it has
little = array.dtype.newbyteorder("<")
header = {"dtype": little.str, "shape": list(array.shape)}
return json.dumps(header).encode(), array.astype(little, order="K").tobytes(order="A")
# END
