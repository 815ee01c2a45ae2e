"""Each path is followed to its end, so a rank is looked at again for every path that leads to it.

Right, and 40 ranks of which each waits for the next two have 268 million paths. A report that takes a minute for a
job that hangs is found by nobody.

Caught by: circle
Passes: correct
"""


# BLANK 2: a search that forgets where it was
def search(path):
    for rank in waits.get(path[-1], []):
        if rank in path:
            return path[path.index(rank) :]
        circle = search([*path, rank])
        if circle:
            return circle
    return []


circle = search(path)
if circle:
    return circle
path.clear()
# END
