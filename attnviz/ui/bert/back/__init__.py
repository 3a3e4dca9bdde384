"""There and back: a text to embeddings, and through an output layer to a text again."""

from attnviz.ui.bert.back.view import show
from attnviz.ui.bert.models import choose
from attnviz.ui.bert.part import Part

PART = Part(show, controls=choose)
