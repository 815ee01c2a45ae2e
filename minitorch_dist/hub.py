"""torch.hub, which downloads models, is not offered: imports go on, calls say so."""

from minitorch_dist.absent import absent

__getattr__ = absent(
    "hub",
    "download_url_to_file get_dir help list load load_state_dict_from_url set_dir",
    "Nothing is downloaded here. Build the model (`models` has some), and read weights that you have "
    "with `load`.",
)
