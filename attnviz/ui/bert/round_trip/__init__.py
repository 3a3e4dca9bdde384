"""Embeddings and back: a text to embeddings, and through an output layer to a text again."""

from attnviz.ui.bert.models import choose_model
from attnviz.ui.bert.parts import Part
from attnviz.ui.bert.round_trip.views import script, show, tables

PART = Part(show, tables, script, controls=choose_model)
