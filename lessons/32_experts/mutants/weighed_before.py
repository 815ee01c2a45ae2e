"""Rows are weighed before they go to their expert.

An expert is no linear function: it has a bias and a ReLU. Half of a token is not half of its result. With weights of 0 and 1 it is the same.

Caught by: correct
Passes: choice, seats, exchange, balance
"""

# BLANK 12: the weights there, and again in combine
came = tell_counts(sent)
away, here = per_rank(sent), [sum(counts) for counts in came]
weighed = x[tokens] * weights[tokens, numbers].view(-1, 1)
found = self.compute(Exchange.apply(weighed, away, here), places_of(came))
rows = Exchange.apply(found, here, away)
# END
