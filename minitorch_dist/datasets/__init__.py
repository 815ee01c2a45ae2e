"""Data without a download: digits drawn from strokes, spirals and moons; and MNIST from your disk."""

from minitorch_dist.datasets.digits import SyntheticDigits as SyntheticDigits
from minitorch_dist.datasets.mnist import MNIST as MNIST
from minitorch_dist.datasets.plane import moons as moons, spirals as spirals
