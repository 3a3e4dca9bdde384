"""A first language model: blocks of attention without parameters and a linear layer, before any training."""

from attnviz.ui.bert.language.view import controls, show
from attnviz.ui.bert.part import Part

PART = Part(show, controls=controls)
