"""A record that is not whole is skipped

It is not whole *yet*: its writer is just writing it. A reader that has gone past it will never read it.
Caught by: never torn
Passes: correct, exactly once, memory
"""

# BLANK 2: read until a record is not whole
while start + HEAD.size <= len(data):
    length, check = HEAD.unpack_from(data, start)
    body = data[start + HEAD.size : start + HEAD.size + length]
    if checksum(body) == check:
        found.append(body)
    start += HEAD.size + length
# END
