"""Plots of the page BERT at work that no other page has."""
