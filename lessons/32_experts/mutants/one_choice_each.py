"""The capacity forgets that each token has k choices.

With k = 1 it is right. With k = 2 half of all choices are dropped.

Caught by: seats, correct
Passes: choice, exchange, combine
"""

# BLANK 2: without k
return math.ceil(factor * tokens / experts)
# END
