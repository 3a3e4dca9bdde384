"""The models whose statistics over a corpus ship with the app. Separate, so that asking for them loads nothing."""

from attnviz.pretrained.names import BUILT_IN

NAMES = (BUILT_IN,)
