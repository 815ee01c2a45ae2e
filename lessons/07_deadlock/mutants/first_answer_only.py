"""Who waits for several is followed to the first of them only.

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
