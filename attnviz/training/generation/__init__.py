"""Text from a language model, token by token, with every number of each draw."""

from attnviz.training.generation.generate import Drawn, generate
from attnviz.training.generation.sampling import Sampling, choose

__all__ = ["Drawn", "Sampling", "choose", "generate"]
