"""Nobody asks whether there is anybody in the other half.

Right for 1, 2, 4, 8 ranks. With five, rank 4 has the rank 5 that does not exist below it.

Caught by: children, correct
Passes: speaker, parent
"""

# BLANK 3: without looking
found = []
for half in halves(size):
    if speaker(rank, 2 * half, root) != rank:
        break
    found.append(speaker((rank // half ^ 1) * half, half, root))
return found
# END
