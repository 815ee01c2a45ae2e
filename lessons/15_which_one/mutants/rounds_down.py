"""The floor rounds log2 P down.

Five ranks cannot all hear from one in two rounds: after two, four ranks know a number. The formula was tried with powers of two only.

Caught by: floor
Passes: prices, choice
"""

# BLANK 5: the power of two below
latency = (size.bit_length() - 1) * links.alpha
return max(latency, 2 * (size - 1) / size * nbytes * links.beta)
# END
