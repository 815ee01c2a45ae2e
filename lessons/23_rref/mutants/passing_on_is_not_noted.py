"""The sender passes on the reference, and does not note the child.

The sender drops its fork, and its DELETE reaches the owner before the receiver's FORK.

Caught by: never too early, library
Passes: correct
Seen: https://github.com/ray-project/ray/issues/17719
"""

# BLANK 1: and nobody asks for them
return fork.is_released and fork.confirmed
# END

# BLANK 3: nothing, since the message goes at once
owner, id = fork.owner, fork.id
# END
