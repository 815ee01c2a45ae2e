"""Of equal weights one is drawn.

Each run drops other tokens, so no run can be reproduced.

Caught by: choice, correct
Passes: seats, exchange, combine
"""

# BLANK 1: noise decides
pairs = zip(weights.tolist(), torch.rand(*weights.shape).tolist())
orders = [sorted(range(len(row)), key=lambda e: (-row[e], noise[e])) for row, noise in pairs]
return [order[:k] for order in orders]
# END
