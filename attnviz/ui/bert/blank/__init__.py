"""Fill the blank: what a masked-language model expects in the place of a mask."""

from attnviz.ui.bert.blank.view import controls, show
from attnviz.ui.bert.part import Part

PART = Part(show, controls=controls)
