"""Search by meaning: a query among the sentences of a text, beside what its words alone find."""

from attnviz.ui.bert.parts import Part
from attnviz.ui.bert.search.results import is_working
from attnviz.ui.bert.search.views import controls, script, show, tables

PART = Part(show, tables, script, controls=controls, is_live=is_working)
