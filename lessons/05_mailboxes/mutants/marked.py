"""A received message is marked and stays in the mailbox: right, but the mailbox grows for ever.

Caught by: memory
Passes: correct, in order, never stuck, plugged in
"""

# BLANK 1: marked, not removed
while not (matching := [m for m in mailbox if m.tag == tag and src in (None, m.src)]):
    world.wait()
message = Message(matching[0].src, tag, matching[0].tensor)
matching[0].tag = "taken"
# END
