"""Short stories from a grammar, for a model of words to learn."""
