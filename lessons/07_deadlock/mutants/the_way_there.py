"""The circle with all those that lead to it.

If 0 waits for 1, and 1 and 3 for each other, then 0 is not to blame, and looking there is lost time.

Caught by: circle
Passes: right
"""

# BLANK 2: the whole path
for rank in waits.get(path[-1], []):
    if rank in path:
        return path
    circle = search([*path, rank])
    if circle:
        return circle
return []
# END
