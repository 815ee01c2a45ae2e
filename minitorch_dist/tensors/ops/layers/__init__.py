"""The operations that networks are made of. `nn.functional` offers these under torch's names.

linear  embedding                                      layers with weights
recurrent                                              layers with a state
attention                                              means weighted by how well two positions match
multihead (with multihead_masks)                       attention in several subspaces
activations  rectifiers                                functions between them
softmaxes  dropout
normalization (with planes)  layer_norm                shared statistics; each sample's own
losses  classification                                 how wrong is it?
"""
