"""A full expert takes one more.

With `<=` the expert has one row more than its room. Where the room is an array, this row lies in the next expert's.

Caught by: seats, correct
Passes: choice, exchange, combine, trains
"""

# BLANK 3: <= for <
for choices in zip(*chosen):
    for token, expert in enumerate(choices):
        if len(seats[expert]) <= most:
            seats[expert].append(token)
# END
