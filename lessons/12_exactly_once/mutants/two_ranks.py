"""It asks two ranks.

So did the tests of PyTorch's collectives on machines with two GPUs, and some did not work for odd numbers of ranks: that was seen when
another vendor's machines asked three.

Caught by: wrong sums, nine of ten
Passes: digits, in words, spares
Seen: https://github.com/pytorch/pytorch/issues/76497
"""

# BLANK 3: two
once(all_reduce, 2, 4)
results, _ = play(all_reduce, [[1.0, 2.0], [10.0, 20.0]])
assert results == [[11.0, 22.0]] * 2, results
# END
