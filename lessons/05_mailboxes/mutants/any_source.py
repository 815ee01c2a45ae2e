"""Only the tag is looked at, so a message of somebody else with the same tag is taken for the one that is awaited.

Caught by: correct, in order
Passes: never stuck, plugged in
Seen: https://github.com/openpmix/openpmix/pull/3854
"""

# BLANK 1: only the tag is looked at
while not (matching := [m for m in mailbox if m.tag == tag]):
    world.wait()
message = matching[0]
mailbox.remove(message)
# END
