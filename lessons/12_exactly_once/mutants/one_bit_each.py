"""Each rank has one bit.

A bit says whether somebody is there, and not how often: rank 0 twice is the same as rank 1 once. LLM-Training-Puzzles (`lib.py`) keeps the
batches of a gradient in a set, in which none can be twice.

Caught by: digits, in words
Seen: https://github.com/srush/LLM-Training-Puzzles
"""

# BLANK 1: a bit
return [2**rank] * count
# END

# BLANK 2: is the bit set?
return [total >> rank & 1 for rank in range(size)]
# END
