"""Rarely used operations of the room `ops.elementwise`.

bessel            the modified Bessel functions I₀ and I₁
comparison        comparisons, and what is decided by them. The results are bool and have no gradient
error_function    the error function and its kin. numpy has none of them
exponentials      exponentials, logarithms, and the functions made of them
gamma             log Γ and its derivatives
logic             truth tables and bit patterns
powers            powers and roots
rounding          signs, magnitudes and roundings: functions whose slope is constant between their steps
trigonometry      circular and hyperbolic functions and their inverses
"""
