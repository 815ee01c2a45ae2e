"""The children are listed with the largest block first, as a broadcast wants them, and a reduce takes them in that order.

Every sum is right. But letters are joined across a gap that is filled later, and early reports wait for late ones.

Caught by: rank order
Passes: speaker, parent, children, correct, exactly once
"""

# BLANK 3: the wrong way round
found = []
for half in halves(size):
    if speaker(rank, 2 * half, root) != rank:
        break
    other = (rank // half ^ 1) * half
    if other < size:
        found.insert(0, speaker(other, half, root))
return found
# END
