"""Half a record makes the whole log unreadable

A short head was taken for the end of the log, but a short body for an error. So when a writer is killed, nobody can read anything
that it ever wrote.
Caught by: never torn
Passes: correct, exactly once, memory
Seen: https://github.com/samyama-ai/samyama-graph/pull/1335
"""

# BLANK 2: read until a record is not whole
while start + HEAD.size <= len(data):
    length, check = HEAD.unpack_from(data, start)
    body = data[start + HEAD.size : start + HEAD.size + length]
    if len(body) < length:
        raise EOFError(f"a record of {length} bytes has only {len(body)}")
    if checksum(body) != check:
        break
    found.append(body)
    start += HEAD.size + length
# END
