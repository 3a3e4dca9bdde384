"""Attention without parameters (Q = K = V = X): blocks of it as a first language model, and heads on subsets of X."""
