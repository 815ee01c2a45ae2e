"""The balance loss counts choices twice when tokens have two.

The shares then add up to k and not to 1, so the loss of a balanced layer is k. With k = 1 it is right. It was so in a well-known library.

Caught by: balance
Passes: choice, seats, exchange, combine, correct
Seen: https://github.com/huggingface/transformers/pull/43775
"""

# BLANK 9: shares of the tokens
everything = [expert for choices in chosen for expert in choices]
shares = [everything.count(expert) / tokens for expert in range(experts)]
return (weights * torch.tensor(shares, dtype=weights.dtype)).sum() * (experts / tokens)
# END
