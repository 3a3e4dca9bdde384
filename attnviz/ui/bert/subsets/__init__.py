"""Heads on subsets of the embedding: one softmax over the whole X, and one in each part of its columns."""

from attnviz.ui.bert.part import Part
from attnviz.ui.bert.subsets.view import controls, show

PART = Part(show, controls=controls)
