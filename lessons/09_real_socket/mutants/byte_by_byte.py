"""Lazy: each byte is asked for alone, so that none can be missing.

It is right wherever the stream is cut, but it calls the system for each byte.

Caught by: calls
Passes: correct, ends, refuses
"""

# BLANK 1: recv(1)
data = bytearray()
while len(data) < nbytes:
    piece = connection.recv(1)
    if not piece:
        raise EOFError("too early")
    data += piece
return data
# END
