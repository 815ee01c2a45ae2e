"""The results go back in the order of the experts, and not in that in which the rows came.

With one expert on each rank it is the same order. With two, tokens get the rows of other tokens, and no form is wrong.

Caught by: correct, trains
Passes: choice, seats, exchange, combine, balance
Seen: https://github.com/pytorch/pytorch/pull/190311
"""

# BLANK 13: not put back
return torch.cat([expert(rows[mine]) for expert, mine in zip(self.experts, places)])
# END
