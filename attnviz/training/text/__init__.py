"""A text as what a model learns from: the built-in corpus, the split, blocks and chunks."""
