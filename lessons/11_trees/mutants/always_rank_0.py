"""The root is forgotten: the first rank speaks for every block, so all trees are those of root 0.

Right in every test whose root is rank 0, or in which all ranks hold the same from the beginning, as in ChainerMN's own.

Caught by: speaker, parent, correct, everybody, rank order
Seen: https://github.com/chainer/chainer/pull/7289
"""

# BLANK 1: the first, always
return rank // length * length
# END
