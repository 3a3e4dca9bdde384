"""Measures of attention: numbers per head, labels derived from them, rollout and norms.

Attention weights show where a head looks. By themselves they do not explain a model's output (Jain and Wallace 2019,
"Attention is not Explanation").

`summary` has the measures of a head and `rows` their values per query; `labels` names heads by them. Nothing is
imported here: `names` is read without torch.
"""
