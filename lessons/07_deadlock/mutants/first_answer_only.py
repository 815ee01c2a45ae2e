"""If a rank waits for several, only the first of them is followed.

Caught by: circle
Passes: right
"""

# BLANK 2: the first one decides
for rank in waits.get(path[-1], []):
    if rank in path:
        return path[path.index(rank) :]
    return search([*path, rank])
return []
# END
