"""Kernels that slide over images.

sliding                        which outputs see which inputs, as slices
convolution                    the checks, the geometry, the gradients; `grouped`: in groups
correlation                    its arithmetic: `simple`, and beneath it the fast forms
                               (`shifted_rows`, `winograd` and `winograd_gradients`)
columns                        windows as columns of a matrix, and back
pooling  adaptive_pooling      a window becomes one number
resampling  pixels             other sizes; channels dealt out as pixels
padding  neighbours            a frame; channels that compete
volumes                        convolution and pooling in three dimensions, pooling undone
"""
