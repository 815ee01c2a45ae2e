"""The programs by name: each is a function of where it runs and of its options."""

from . import examine, remote, training

TRAINED = {**training.PROGRAMS, "server": remote.train_server}
PROGRAMS = {**TRAINED, "rpc": remote.remote, "examine": examine.together}
