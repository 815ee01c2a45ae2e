"""`if src` for `if src is not None`: a receive that asks for rank 0 gets a message of any rank.

Caught by: correct, in order
Passes: never stuck, plugged in
"""

# BLANK 1: 0 is false
while not (matching := [m for m in mailbox if m.tag == tag and (not src or m.src == src)]):
    world.wait()
message = matching[0]
mailbox.remove(message)
# END
