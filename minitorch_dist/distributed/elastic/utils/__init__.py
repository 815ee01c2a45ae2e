"""Small things that launchers and scripts ask for, under torch's names."""

from minitorch_dist.distributed.elastic.utils.api import (
    get_env_variable_or_raise as get_env_variable_or_raise,
    get_socket_with_port as get_socket_with_port,
    macros as macros,
)
