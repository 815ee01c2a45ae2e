"""The elements' bytes are sent as this machine has them.

Between two machines of a kind nobody notices, for years.

Caught by: correct, same everywhere
Passes: refuses
Seen: https://github.com/tensorflow/tensorflow/issues/56937
Seen: https://github.com/pytorch/pytorch/pull/26383
"""

# BLANK 1: nobody turns them round
header = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}
return json.dumps(header).encode(), array.tobytes()
# END
