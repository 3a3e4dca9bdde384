"""The page BERT at work: a module or a package for each of its parts, with a `PART`."""

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
"""By the names of the parts in links. They are imported late: their imports take up to 0.6 s"""
