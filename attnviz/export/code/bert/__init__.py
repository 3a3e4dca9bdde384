"""Exports the parts of the page BERT at work as scripts of plain torch and transformers."""
