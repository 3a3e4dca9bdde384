"""What if this head were gone? The built-in model without some of its heads, and what changes on the text."""

from attnviz.ui.bert.part import Part
from attnviz.ui.bert.without.controls import controls
from attnviz.ui.bert.without.view import show

PART = Part(show, controls=controls)
