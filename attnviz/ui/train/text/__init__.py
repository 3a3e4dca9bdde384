"""The part "Text" of the page Train: the ladder, from a table of pairs to a GPT, on a text."""
