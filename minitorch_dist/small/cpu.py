"""`torch.cpu`: the host as a device."""

from minitorch_dist.inventory import not_offered

not_offered.guard(globals())


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def synchronize(device: object = None) -> None:
    """Nothing is asynchronous here."""
