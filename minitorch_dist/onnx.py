"""torch.onnx, which writes models for other programs, is not offered: imports go on, calls say so."""

from minitorch_dist.absent import absent

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

__getattr__ = absent(
    "onnx",
    "ExportableModule InputObserver ONNXProgram OnnxExporterError export register_custom_op_symbolic "
    "select_model_mode_for_export",
    "Save the weights with `save(model.state_dict(), …)`, and export the model in PyTorch.",
)


def is_in_onnx_export() -> bool:
    return False
