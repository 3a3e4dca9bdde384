"""The names of the measures of a head, in links and code. Separate, so that links are parsed without torch."""

NAMES = ("entropy", "distance", "previous", "next", "same", "first", "cls", "sep", "punctuation")
"""All measures, in the order of `summary.choose_measures`; some do not exist for every text or model."""
