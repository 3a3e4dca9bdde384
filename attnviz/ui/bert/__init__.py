"""The page on BERT: one module for each part, or a package, with its `PART`."""

MODULES = {
    "configuration": "attnviz.ui.bert.configuration",
    "back": "attnviz.ui.bert.round_trip",
    "language": "attnviz.ui.bert.language",
    "subsets": "attnviz.ui.bert.subsets",
    "classifier": "attnviz.ui.bert.classifier",
    "agent": "attnviz.ui.bert.agent",
    "search": "attnviz.ui.bert.search",
    "without": "attnviz.ui.bert.ablation",
    "blank": "attnviz.ui.bert.blank",
}
"""Keyed by part name in links. A module is imported when its part is chosen: imports take up to 0.6 s"""
