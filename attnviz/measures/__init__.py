"""Measures of attention: numbers per head, labels derived from them, rollout and norms.

Attention weights show where a head looks. By themselves they do not explain a model's output (Jain and Wallace 2019,
"Attention is not Explanation").

`summary` has the measures of a head and their values per query, and names heads by them. Nothing is imported here:
links need the names without torch.
"""

NAMES = ("entropy", "distance", "previous", "next", "same", "first", "cls", "sep", "punctuation")
"""All measures, in the order of `summary.choose_measures`; some do not exist for every text or model."""
