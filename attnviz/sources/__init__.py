"""Sources of models: their registry, and the function from a view to the model, layer and head that it shows.

Torch is imported only when a model is opened.
"""

from attnviz.sources.models import PRETRAINED, TOY, TRAINED, Get, Names, Resources, Source

SOURCES: dict[str, Source] = {source.key: source for source in (TOY, PRETRAINED, TRAINED)}
"""Sources by their name in links, in the order in which the app offers them."""

__all__ = ["PRETRAINED", "SOURCES", "TOY", "TRAINED", "Get", "Names", "Resources", "Source"]
