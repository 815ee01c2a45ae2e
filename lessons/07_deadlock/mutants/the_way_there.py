"""The circle with all those that lead to it.

If 0 waits for 1, and 1 and 3 for each other, then 0 is not to blame, and looking there is lost time.

Caught by: circle
Passes: correct
"""

# BLANK 2: the whole path
further = [rank for rank in waits.get(path[-1], []) if rank not in dead_ends]
if not further:
    dead_ends.add(path.pop())
elif further[0] in path:
    return path
else:
    path.append(further[0])
# END
