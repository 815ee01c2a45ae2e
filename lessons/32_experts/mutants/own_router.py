"""Each rank's router learns from its own tokens only.

After the first step the ranks have different routers. Then a token goes to one expert if it lies on rank 0, and to another one on rank 1.

Caught by: correct, trains
Passes: choice, seats, exchange, combine, balance
"""

# BLANK 10: the router as it is
return x @ self.router.T
# END
