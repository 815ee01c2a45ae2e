"""Each rank clips by the norm of its own shards.

A rank clips too little, and each rank by another factor. So the whole gradient changes its direction.

Caught by: norm
Passes: correct, memory, bytes
Seen: https://github.com/areal-project/AReaL/issues/312
"""

# BLANK 9: without the others
norm = squares**0.5
# END
