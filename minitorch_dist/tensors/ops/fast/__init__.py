"""Fast forms of functions whose text is simple (`ops.plugs` puts them in place).

correlation                   convolution: which of these two a layer gets
shifted_rows  winograd        columns along the width only; three rows at half the price (and `winograd_gradients`)
recurrent                     all steps of a recurrent layer at once (with `recurrent_cells`)
"""

from minitorch_dist.tensors.ops.fast import correlation as correlation, recurrent as recurrent
