"""Tables larger than memory: count, decide on counts, scatter once, kernels per block, seal."""
