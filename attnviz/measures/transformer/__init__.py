"""Measures of whole transformers: what becomes of a token, what a norm does, who can see whom, and what it all costs.

Nothing is imported here: `cost` and `parameters` are read without torch.
"""
