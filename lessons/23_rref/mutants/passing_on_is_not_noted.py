"""Send the reference, and say nothing to oneself about it.

The sender lets go, and its DELETE is at the owner before the receiver's FORK.

Caught by: never too early, library
Passes: right
Seen: https://github.com/ray-project/ray/issues/17719
"""

# BLANK 1: and nobody asks for them
return fork.is_released and fork.confirmed
# END

# BLANK 3: nothing, since the letter goes at once
owner, id = fork.owner, fork.id
# END
