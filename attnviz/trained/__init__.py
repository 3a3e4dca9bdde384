"""Models that were trained here: by this project, which ships them, or by a visitor.

`load("induction").trace("qweasdqweasd").head(layer=1, head=0)` returns the `AttentionSteps` of one head.

Importing this imports no torch; loading a model does.
"""

from attnviz.trained.shipped import is_name, load, names

__all__ = ["is_name", "load", "names"]
