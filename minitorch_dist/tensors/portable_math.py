"""Logarithm and the normal quantile, with the same bits on every machine.

numpy's own `log` chooses its code by the processor, and the last bit may differ. A seed
must mean the same numbers everywhere, so random numbers are made with these. They use only + - * /,
each a numpy operation of its own, which IEEE 754 rounds exactly. They also take floats apart into
mantissa and exponent. They work on float64 arrays and are right to about an ulp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

_HALF_SQRT2: Final = 0.7071067811865476
_LN2_HIGH: Final = 0.6931471803691238  # its last 21 bits are zero: times an exponent it is exact
_LN2_LOW: Final = 1.9082149292705877e-10


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """c0 + c1 x + c2 x² + …, by Horner's rule."""
    total = np.multiply(x, coefficients[-1])
    total += coefficients[-2]
    for c in coefficients[-3::-1]:
        total *= x
        total += c
    return total


_ATANH: Final = [2.0 / n for n in range(1, 23, 2)]  # 2 atanh(s) = 2s + 2s³/3 + 2s⁵/5 + …


def log(x: Array) -> Array:
    """log x for positive normal numbers.

    x = m 2ᵉ with m in [√½, √2); log m = 2 atanh s with s = (m-1)/(m+1), and |s| < 0.172.
    """
    m, e = np.frexp(x)
    small = m < _HALF_SQRT2
    m = np.where(small, m * 2.0, m)
    e = e - small
    s = (m - 1.0) / (m + 1.0)
    return e * _LN2_HIGH + (s * polynomial(s * s, _ATANH) + e * _LN2_LOW)


# Wichura's AS241 (Applied Statistics 37, 1988, doi:10.2307/2347330): three ratios of polynomials,
# numerator over denominator, for the middle, the tails and the far tails.

_MIDDLE: Final = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_TAIL: Final = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR: Final = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def normal_quantile(u: Array) -> Array:
    """The number that a standard normal variable stays below with probability u, 0 < u < 1."""
    q = u - 0.5
    r = 0.180625 - q * q
    z = polynomial(r, _MIDDLE[0])
    z /= polynomial(r, _MIDDLE[1])
    z *= q
    outside = np.flatnonzero(r < 0)  # |q| > 0.425, 15 % of all
    if outside.size:
        q = q[outside]
        u = u[outside]
        r = np.sqrt(-log(np.minimum(u, 1.0 - u)))
        near = r - 1.6
        tail = polynomial(near, _TAIL[0]) / polynomial(near, _TAIL[1])
        far = np.flatnonzero(r > 5)  # two in a hundred thousand million
        if far.size:
            beyond = r[far] - 5.0
            tail[far] = polynomial(beyond, _FAR[0]) / polynomial(beyond, _FAR[1])
        z[outside] = np.copysign(tail, q)
    return z
