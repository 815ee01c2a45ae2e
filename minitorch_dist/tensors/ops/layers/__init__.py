"""The operations that networks are made of. `nn.functional` offers these under torch's names.

linear  embedding  recurrent  attention  multihead     layers with weights
activations  rectifiers  random_activations            functions between them
softmaxes  dropout
normalization (with planes)  layer_norm                shared statistics; each sample's own
losses  classification  margins                        how wrong is it?
"""
