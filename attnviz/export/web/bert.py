"""What a scene of BERT at work shows in a static site: the effect of each head, or the tokens of its text."""

from __future__ import annotations

from typing import cast

from attnviz.export.views import View
from attnviz.figures.colour_limit import as_array
from attnviz.figures.panels import Layout, Panel
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.names import BUILT_IN
from attnviz.sources import Resources
from attnviz.tokens import NoTokensError, Tokens

TITLE = "1 − cosine of the sentence embedding without each head, in thousandths"


def of_bert(view: View, resources: Resources) -> tuple[Layout | None, dict[str, Tokens]]:
    """Return the effects of all heads where a scene switches heads off, else None; and the tokens of its text.

    Raises:
        attnviz.pretrained.ModelError: the built-in model can't be loaded.
        NoTokensError: the text has no token.
    """
    from attnviz.bert.ablation import effects, head_means
    from attnviz.bert.search import built_in

    model = cast("BuiltInModel", resources.load(BUILT_IN))
    tokens = model.tokenize(view["text"])
    if not len(tokens):
        raise NoTokensError
    if view["bert_part"] != "without":
        return None, {"query": tokens}
    means = head_means(model, built_in().sentences) if view["off_by"] == "mean" else None
    found = effects(model, resources.trace(model, view["text"], None), means).sentence
    panel = Panel("effects", TITLE, as_array(1000 * found), "layer", "head", scale="weights", bar=True)
    return Layout(grid=((panel,),), widths=(1,), heights=(1,)), {"query": tokens}
