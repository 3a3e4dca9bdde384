"""The names of the measures of a head, in links and code. Apart, for who reads a link needs no torch."""

NAMES = ("entropy", "distance", "previous", "next", "same", "first", "cls", "sep", "punctuation")
"""All that there are, in the order of `summary.choose_measures`; a text or a model may lack some."""
