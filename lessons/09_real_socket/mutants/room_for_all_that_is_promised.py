"""`recv(n)` reserves n bytes before anything comes: a frame of 16 bytes takes all memory.

Caught by: refuses
Passes: correct, ends, calls
Seen: https://github.com/python/cpython/issues/119451
"""

# BLANK 1: as much as the other side says
data = bytearray()
while len(data) < nbytes:
    piece = connection.recv(nbytes - len(data))
    if not piece:
        raise EOFError("too early")
    data += piece
return data
# END
