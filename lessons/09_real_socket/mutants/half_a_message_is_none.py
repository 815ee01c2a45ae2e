"""Every end of the stream counts as a good one: nobody hears of a peer that was killed in the middle.

Caught by: ends
Passes: correct, calls
Seen: https://github.com/psf/requests/issues/4956
"""

# BLANK 3: one except for both ends
try:
    header_length, payload_length = frames.unpack(read_exactly(connection, frames.LENGTH))
    return read_exactly(connection, header_length), read_exactly(connection, payload_length)
except EOFError:
    return None
# END
