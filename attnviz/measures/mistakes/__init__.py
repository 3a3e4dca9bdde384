"""Mistakes in lecture notes and in code on the web, each next to the correct version, with the numbers of both.

`texts` has the code and its explanation, `computed` runs it on a text. Nothing is imported here: `texts` is read
without torch.
"""
