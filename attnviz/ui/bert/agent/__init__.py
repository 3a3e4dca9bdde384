"""An agent's last layer: four actions on the same frozen model. A teaching example and no medical device."""

from functools import partial

from attnviz.ui.bert.agent import calls, positions, threshold
from attnviz.ui.bert.classifier.commands import begin, is_live
from attnviz.ui.bert.classifier.controls import show_controls
from attnviz.ui.bert.classifier.view import show_view
from attnviz.ui.bert.classifier.what import AGENT
from attnviz.ui.bert.part import Part

VIEWS = {"sentence": calls.show, "threshold": threshold.show, "positions": positions.show}

PART = Part(
    partial(show_view, AGENT, VIEWS),
    controls=partial(show_controls, AGENT),
    begin=partial(begin, AGENT),
    is_live=is_live,
)
