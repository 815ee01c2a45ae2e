"""torch's address of `save` and `async_save`."""

from minitorch_dist.distributed.checkpoint.saving_and_loading import (
    async_save as async_save,
    save as save,
)
