"""A classifier on the frozen model: a linear layer, trained in the page on film reviews or a user's CSV file."""

from functools import partial

from attnviz.ui.bert.classifier.commands import begin, is_live
from attnviz.ui.bert.classifier.controls import show_controls
from attnviz.ui.bert.classifier.view import show_view
from attnviz.ui.bert.classifier.what import CLASSIFIER
from attnviz.ui.bert.part import Part

PART = Part(
    partial(show_view, CLASSIFIER, {}),
    controls=partial(show_controls, CLASSIFIER),
    begin=partial(begin, CLASSIFIER),
    is_live=is_live,
)
