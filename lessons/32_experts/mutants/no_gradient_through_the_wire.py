"""Rows are exchanged without a gradient.

Forward is right. The tokens' gradient ends at the wire: all layers below learn from the router alone.

Caught by: correct
Passes: choice, seats, exchange, combine, balance
"""

# BLANK 12: `exchanged` in place of Exchange
came = tell_counts(sent)
away, here = per_rank(sent), [sum(counts) for counts in came]
found = self.compute(exchanged(x[tokens].detach(), away, here), places_of(came))
rows = Exchange.apply(found, here, away)
# END
