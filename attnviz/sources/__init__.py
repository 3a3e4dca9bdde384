"""Where attention comes from: one registry of sources, and one function from a view to what it shows.

Nothing here imports torch before a model is opened.
"""

from attnviz.sources.pretrained import PRETRAINED
from attnviz.sources.source import Get, Resources, Source
from attnviz.sources.toy import TOY

SOURCES: dict[str, Source] = {source.key: source for source in (TOY, PRETRAINED)}
"""By the word that a link has for it, in the order in which the screen offers them."""

__all__ = ["SOURCES", "Get", "Resources", "Source"]
