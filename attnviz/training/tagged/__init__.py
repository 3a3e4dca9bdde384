"""Tagging with two files from the user: one to train on, and one to test on."""
