"""The operations that networks are made of. `nn.functional` offers these under torch's names.

linear  embedding                                      layers with weights
recurrent (with recurrent_cells)                       layers with a state
attention (with attention_checks)  tiled_attention     means weighted by how well two positions match
multihead (with multihead_checks, multihead_masks)     attention in several subspaces
activations  rectifiers  random_activations            functions between them
softmaxes  dropout
normalization (with planes)  layer_norm                shared statistics; each sample's own
losses  classification  margins                        how wrong is it?
"""
