"""torch's newer way to compute weights from other parameters is not offered; the older one is."""

from minitorch_dist.absent import absent

__getattr__ = absent(
    "nn.utils.parametrizations",
    "weight_norm spectral_norm orthogonal",
    "Use `nn.utils.weight_norm` and `nn.utils.spectral_norm`, which compute the same weights, under older keys.",
)
