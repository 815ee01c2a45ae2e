"""torch.ao.quantization, models in small integers, is not offered: imports go on, calls say so."""

from minitorch_dist.absent import absent

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

__getattr__ = absent(
    "ao.quantization",
    "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver "
    "MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver ObserverBase "
    "PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping QuantStub QuantWrapper "
    "add_quant_dequant convert disable_fake_quant disable_observer enable_fake_quant enable_observer "
    "fuse_modules fuse_modules_qat get_default_qat_qconfig get_default_qat_qconfig_mapping "
    "get_default_qconfig get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ quantize "
    "quantize_dynamic quantize_qat swap_module",
    "Train and run in `bfloat16` or `float16` (`autocast`), or quantize the saved weights in PyTorch.",
)
