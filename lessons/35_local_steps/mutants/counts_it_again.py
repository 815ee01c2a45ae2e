"""A change is sent again although it is counted.

A machine keeps its changes until a state says that they are counted: a peer may have had the message of a quorum that this machine gave up. If it
does not look, each change is added again and again.

Caught by: quorum, late
Passes: outer step, correct, bytes
"""

# BLANK 6: all that this machine has
return changes
# END
