"""The gradient is exchanged with the sizes of forward.

There and back are mirror images: what came goes. With equal parts it is the same.

Caught by: exchange, correct
Passes: choice, seats, combine, balance
"""

# BLANK 6: forward's sizes
return exchanged(grad, ctx.sent, ctx.came), None, None
# END
