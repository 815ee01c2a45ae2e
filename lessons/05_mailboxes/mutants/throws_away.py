"""Messages are taken out one by one until one matches; the others are gone, and later receives wait for them for ever.

Caught by: correct, in order, never stuck
"""

# BLANK 1: what does not match is dropped
message = None
while message is None:
    while not mailbox:
        world.wait()
    first = mailbox.pop(0)
    if first.tag == tag and src in (None, first.src):
        message = first
# END
