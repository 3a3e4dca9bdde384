"""Exports the parts of the page on BERT as scripts of plain torch and transformers."""
