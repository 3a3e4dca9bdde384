"""The names of the measures of a head, in links and code. A separate module, so links can be parsed without torch."""

NAMES = ("entropy", "distance", "previous", "next", "same", "first", "cls", "sep", "punctuation")
"""All measures, in the order of `summary.choose_measures`; some do not exist for every text or model."""
