"""torch.export, which turns a model into one graph, is not offered: imports go on, calls say so."""

from minitorch_dist.absent import absent

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

__getattr__ = absent(
    "export",
    "AdditionalInputs Constraint CustomDecompTable Dim ExportBackwardSignature ExportGraphSignature "
    "ExportedProgram ModuleCallEntry ModuleCallSignature ShapesCollection UnflattenedModule "
    "default_decompositions dims draft_export export load register_dataclass save unflatten",
    "Call the model itself, save its weights with `save(model.state_dict(), …)`, or cut it into a "
    "pipeline's stages by hand (`PipelineStage`).",
)
