"""What if this head were gone? The built-in model without some heads, and what changes in its output for the text."""

from attnviz.ui.bert.ablation.views import controls, script, show, tables
from attnviz.ui.bert.parts import Part

PART = Part(show, tables, script, controls=controls)
