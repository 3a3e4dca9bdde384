"""What is in every file of statistics. Separate, so that asking which there are loads nothing."""

FORMAT = 2
"""Of files; another one can't be shown"""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LABELLED = ("previous", "next", "same", "first", "cls", "sep", "punctuation")
"""The measures that give a label"""
LABELS = (*LABELLED, "diagonal", "broad")
"""As `attnviz.measures.labels.holding` names them"""
