"""Modules that are small here, where torch has large ones. Each has torch's name: `minitorch_dist.random` is found in this folder.

accelerator  cpu     the simulated devices, without naming their kind; the host
backends  compiler   switches of libraries that are not here, and of a compiler that is not here
distributions        dice, for programs that learn by trying
linalg  random       norms; the default stream of random numbers
transforms           torchvision's: an image to a tensor
version              the release

The package's `__path__` has this folder, so that a reader of the package finds its large parts first.
"""
