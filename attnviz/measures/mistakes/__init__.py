"""Mistakes that lecture notes and code on the web make, each beside what is right, with the numbers of both.

`texts` says what the code says, `computed` what it does on a text. Nothing is imported here: `texts` is read
without torch.
"""
