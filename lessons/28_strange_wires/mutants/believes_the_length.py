"""The checksum is written, but never compared

The length is there before the bytes are: a file grows first and is filled later, so a hole reads like a record. (The database
that is named below had no checksum at all: after a power loss a part of a transaction was applied.)
Caught by: never torn
Passes: correct, exactly once, memory
Seen: https://github.com/litedb-org/LiteDB/issues/2935
"""

# BLANK 2: read until a record is not whole
while start + HEAD.size <= len(data):
    length, _ = HEAD.unpack_from(data, start)
    body = data[start + HEAD.size : start + HEAD.size + length]
    if len(body) < length:
        break
    found.append(body)
    start += HEAD.size + length
# END
