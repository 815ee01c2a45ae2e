"""The programs that train, by name: each is a function of where it runs and of its options."""

from . import remote, training

TRAINED = {**training.PROGRAMS, "server": remote.train_server}
