"""The newest message that matches is taken: messages of one kind overtake each other, if several have come.

Caught by: in order
Passes: correct
Seen: https://github.com/openucx/ucx/issues/1514
"""

# BLANK 1: from the end
while not (matching := [m for m in mailbox if m.tag == tag and src in (None, m.src)]):
    world.wait()
message = matching[-1]
mailbox.remove(message)
# END
