"""Everybody reports to the root: lazy, and right.

Caught by: rounds
Passes: speaker, parent, children, correct, exactly once, never stuck, rank order, scatters, plugs in
"""

# BLANK 2: to the root
return None if rank == root else root
# END

# BLANK 3: all, the nearest first
return (
    sorted(set(range(size)) - {root}, key=lambda other: abs(other - root)) if rank == root else []
)
# END
