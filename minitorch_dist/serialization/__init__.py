"""`save` and `load`: tensors in a safetensors file, everything around them as JSON. No pickle."""

from minitorch_dist.serialization.container import SerializationError as SerializationError
from minitorch_dist.serialization.loading import load as load
from minitorch_dist.serialization.saving import save as save
