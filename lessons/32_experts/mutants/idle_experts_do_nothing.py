"""An expert without rows is left out.

Its parameters have no gradient then, and the others have one. The graph ends on a rank to which nobody sends, so this rank does not take part
in backward's exchange, and all others wait for it.

Caught by: correct, never stuck
Passes: choice, seats, exchange, combine
Seen: https://github.com/PaddlePaddle/PaddleFormers/pull/3010
Seen: https://github.com/NVIDIA-NeMo/Automodel/pull/1365
"""

# BLANK 13: only experts with rows
found = [expert(rows[mine]) for expert, mine in zip(self.experts, places) if mine]
if not found:
    return rows.new_zeros(0, self.experts[0](rows).shape[1])
return torch.cat(found)[sorted(range(len(order)), key=order.__getitem__)]
# END
