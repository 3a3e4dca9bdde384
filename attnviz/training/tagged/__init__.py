"""Tagging from a user's two files: one to train on, one held out to test on."""
