"""A rank that was woken assumes that its message is there: it may have been another one.

Caught by: never stuck, in order
Seen: https://github.com/nats-io/stan.net/pull/44
"""

# BLANK 1: if, where it should be while
matching = [m for m in mailbox if m.tag == tag and src in (None, m.src)]
if not matching:
    world.wait()
    matching = [m for m in mailbox if m.tag == tag and src in (None, m.src)]
message = matching[0]
mailbox.remove(message)
# END
