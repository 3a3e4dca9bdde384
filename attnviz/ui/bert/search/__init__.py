"""Search by meaning: a query among the sentences of a text, beside what its plain words find."""

from attnviz.ui.bert.part import Part
from attnviz.ui.bert.search.found import is_working
from attnviz.ui.bert.search.view import controls, show

PART = Part(show, controls=controls, is_live=is_working)
