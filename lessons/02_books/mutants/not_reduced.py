"""The gradient of what was broadcast comes back as large as the result, and nobody adds it up.

With a batch of one it goes unnoticed.

Caught by: sum_to, plugged in
Passes: shapes, strides, no copy
Seen: https://github.com/deeplearning4j/nd4j/issues/2424
Seen: https://github.com/mlpack/mlpack/pull/3679
"""

# BLANK 6: the shape is left as it is
return grad
# END
