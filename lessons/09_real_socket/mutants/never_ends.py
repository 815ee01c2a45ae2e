"""The end of the stream is taken for bytes that are still to come.

recv gives b'' at once, each time: the loop never ends, and takes a whole core.

Caught by: ends
Passes: correct, calls
Seen: https://github.com/zoranzhao/DeepThings/issues/4
Seen: https://github.com/Bitmessage/PyBitmessage/pull/277
Seen: https://github.com/ml-explore/mlx/pull/4060
"""

# BLANK 1: nobody looks whether it is empty
data = bytearray()
while len(data) < nbytes:
    data += connection.recv(min(nbytes - len(data), PIECE))
return data
# END
