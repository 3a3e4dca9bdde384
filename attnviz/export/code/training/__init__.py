"""Exports a training as code: a script of plain torch that trains the same model to the same losses."""

from attnviz.export.code.training.script import NoTrainingCodeError, training_script

__all__ = ["NoTrainingCodeError", "training_script"]
