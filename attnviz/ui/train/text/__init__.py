"""The part "Text" of the page Train: the model series, from a table of pairs to a GPT, on a text."""
