"""Each token takes its seats before the next one comes: its second choice before the first choice of others.

Below the capacity nothing is different. Above it, tokens early in the sequence have both experts, and late ones have none.

Caught by: seats, correct
Passes: choice, exchange, combine, balance, trains
"""

# BLANK 3: token after token
for token, choices in enumerate(chosen):
    for expert in choices:
        if len(seats[expert]) < most:
            seats[expert].append(token)
# END
