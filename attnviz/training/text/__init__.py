"""Texts as training data: the built-in corpus, the split, blocks and chunks."""
