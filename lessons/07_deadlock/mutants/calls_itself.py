"""The search calls itself for the next rank: Python allows a thousand calls within each other.

Caught by: circle
Passes: correct
"""


# BLANK 2: remembers where it was, and goes down by recursion
def search(path):
    for rank in waits.get(path[-1], []):
        if rank in path:
            return path[path.index(rank) :]
        if rank not in dead_ends:
            circle = search([*path, rank])
            if circle:
                return circle
    dead_ends.add(path[-1])
    return []


circle = search(path)
if circle:
    return circle
path.clear()
# END
