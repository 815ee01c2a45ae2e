"""The gradients are added up, and not divided.

The learning rate is then P times as large. All ranks agree, so nothing looks wrong. A puzzle that teaches data parallel training
checks that the gradients of all batches arrived. It has no numbers in which a factor could show.

Caught by: average, correct
Passes: start, buffers, loss, replicas, bytes
Seen: https://github.com/srush/LLM-Training-Puzzles/issues/9
"""

# BLANK 2: no division
all_reduce(p.grad)
# END
