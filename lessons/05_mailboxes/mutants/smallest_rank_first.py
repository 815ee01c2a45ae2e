"""Of all messages that match, that of the smallest rank is taken, and not the oldest.

Each sender's messages stay in order, so programs that name their sources are right. But a rank with a large number may wait for ever
while those with small ones go on sending.

Caught by: oldest first
Passes: correct, in order, never stuck
"""

# BLANK 1: the smallest sender
while not (matching := [m for m in mailbox if m.tag == tag and src in (None, m.src)]):
    world.wait()
message = min(matching, key=lambda m: m.src)
mailbox.remove(message)
# END
