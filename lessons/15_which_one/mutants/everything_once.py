"""Each rank has to say all it has, once: n bytes.

True, and too low: somebody has to say the sums as well. A floor that no algorithm touches proves nothing.

Caught by: floor
Passes: prices, choice
"""

# BLANK 5: too low
return max(rounds_to_all(size) * links.alpha, (size - 1) / size * nbytes * links.beta)
# END
