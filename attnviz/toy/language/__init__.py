"""Models from token ids to logits, to be trained: bigram, GRU, and transformers with or without some of their parts."""
