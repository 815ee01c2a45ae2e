"""Results are added up without their weights' gradient.

The choice itself has no gradient, because it is a number. The weight is the only way by which the router can learn. It was lost when top-1
weights were divided by their sum, which is themselves, too.

Caught by: combine, correct
Passes: choice, seats, exchange, balance
Seen: https://github.com/jingyaogong/minimind/issues/858
"""

# BLANK 8: weights are numbers
weighted = rows * weights.detach()[tokens, experts].view(-1, 1)
return total.index_add(0, torch.tensor(tokens, dtype=torch.int64), weighted)
# END
