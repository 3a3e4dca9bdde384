"""Trainable models from token ids to logits: bigram, GRU, and transformers, complete or with parts left out."""
