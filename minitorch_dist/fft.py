"""Discrete Fourier transforms, by torch's names."""

from minitorch_dist.tensors.extras.linear_algebra.fourier import (
    fft as fft,
    fft2 as fft2,
    fftfreq as fftfreq,
    fftn as fftn,
    fftshift as fftshift,
    ifft as ifft,
    ifft2 as ifft2,
    ifftn as ifftn,
    ifftshift as ifftshift,
    irfft as irfft,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft as rfft,
    rfft2 as rfft2,
    rfftfreq as rfftfreq,
    rfftn as rfftn,
)
from minitorch_dist.tensors.extras.outputs import offer as _offer_out

_offer_out(globals(), "fft.")
