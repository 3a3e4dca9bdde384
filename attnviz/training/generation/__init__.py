"""Text from a language model, token by token, with every number of each draw."""

from attnviz.training.generation.generate import Drawn, Sampling, choose, generate

__all__ = ["Drawn", "Sampling", "choose", "generate"]
