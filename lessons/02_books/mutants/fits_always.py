"""Sizes that differ are never refused: the first one is taken, so (2, 3) and (3, 3) are (2, 3).

The mistake shows later, far from the line that made it, or never.

Caught by: shapes
Passes: sum_to, plugged in
"""

# BLANK 4: no ValueError
sizes.append(m if n == 1 else n)
# END
