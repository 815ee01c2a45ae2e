"""Kernels that slide over images.

sliding                        which outputs see which inputs, as slices
convolution                    the checks, the geometry, the gradients
correlation                    its arithmetic, in the simple form
pooling  adaptive_pooling      a window becomes one number
pixels                         channels dealt out as pixels
padding                        a frame
"""
