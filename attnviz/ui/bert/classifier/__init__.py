"""A classifier on the frozen model: a linear layer, trained in the page on film reviews or a user's CSV file."""

from functools import partial

from attnviz.ui.bert.classifier.data import CLASSIFIER, show_controls
from attnviz.ui.bert.classifier.tables import script_of, tables_of
from attnviz.ui.bert.classifier.training import begin, is_live
from attnviz.ui.bert.classifier.views import show_mistakes, show_result, show_seeds, show_sentence, show_view
from attnviz.ui.bert.parts import Part

VIEWS = {"result": show_result, "sentence": show_sentence, "wrong": show_mistakes, "seeds": show_seeds}
"""Keyed by name in links"""

PART = Part(
    partial(show_view, CLASSIFIER, VIEWS),
    partial(tables_of, CLASSIFIER),
    partial(script_of, CLASSIFIER),
    controls=partial(show_controls, CLASSIFIER),
    begin=partial(begin, CLASSIFIER),
    is_live=is_live,
)
