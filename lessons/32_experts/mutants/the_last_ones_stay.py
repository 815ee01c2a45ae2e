"""A full expert takes the newest token, and the oldest has to go.

The number of tokens is right. Which of them are dropped is another question: here a first choice makes room for somebody's second.

Caught by: seats, correct
Passes: choice, exchange, combine, balance
"""

# BLANK 3: the oldest goes
for choices in zip(*chosen):
    for token, expert in enumerate(choices):
        seats[expert] = [*seats[expert], token][-most:] if most else []
# END
