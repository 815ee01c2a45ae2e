"""Ranks are numbered from the root round the circle, and the tree is that of root 0.

A tree as low as any, and every sum is right. But with root 2 of three ranks it joins rank 2 and rank 0 first. So an operation
that is not commutative gives a wrong result, as soon as the root is not rank 0.

Caught by: rank order, scatters
Passes: speaker, parent, children, correct, exactly once, rounds, plugs in
Seen: https://github.com/faasm/faabric/issues/33
"""

# BLANK 2: the lowest bit of the number away
number = (rank - root) % size
return (rank - (number & -number)) % size if number else None
# END

# BLANK 3: one for each bit below the lowest
number = (rank - root) % size
lowest = number & -number or size
return [(rank + half) % size for half in halves(size) if half < lowest and number + half < size]
# END
