"""`save` and `load`: tensors in a safetensors file, everything around them as JSON. No pickle.

container  files     the file, as Hugging Face defines it; written whole or not at all
structure  in_memory    objects as JSON; how tensors lie in memory
strict_json  alike   JSON without doubled names; tables that cost no more than their keys
saving  loading      an object to a file, and back
locations            on which device it comes back
instead              advice on objects, which are no values
"""

from typing import TYPE_CHECKING

from minitorch_dist.inventory import not_offered

if TYPE_CHECKING:
    from minitorch_dist.serialization.container import SerializationError as SerializationError
    from minitorch_dist.serialization.loading import load as load
    from minitorch_dist.serialization.saving import save as save

not_offered.guard(globals(), {"SerializationError": "container", "load": "loading", "save": "saving"})
