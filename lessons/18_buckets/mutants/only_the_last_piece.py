"""Each piece clears what the ones before it have collected.

Only the last piece's gradient reaches the optimizer. All ranks agree; the batch is just smaller than you think.

Caught by: pieces, correct
Passes: assign, pack, average, bytes, rounds
Seen: https://github.com/NVIDIA/Megatron-LM/pull/7186
Seen: https://github.com/pytorch/torchtitan/pull/3575
"""

# BLANK 4: zero_grad for each piece
for x, y in others:
    optimizer.zero_grad()
    with model.no_sync():
        loss(model(x), y, total).backward()
optimizer.zero_grad()
x, y = last
loss(model(x), y, total).backward()
# END
