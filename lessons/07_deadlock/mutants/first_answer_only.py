"""If a rank waits for several, only the first of them is followed.

Caught by: circle
Passes: correct
"""

# BLANK 2: the first one decides
further = waits.get(path[-1], [])[:1]
if not further or further[0] in dead_ends:
    dead_ends.update(path)
    path.clear()
elif further[0] in path:
    return path[path.index(further[0]) :]
else:
    path.append(further[0])
# END
