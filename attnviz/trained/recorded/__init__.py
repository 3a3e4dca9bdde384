"""Trainings that were recorded once and ship with the app: their losses, evaluations and snapshots, to be gone through
without waiting.

`load("induction").view.snapshots` are the weights of the model after some of its steps. Importing this loads no torch.
"""

from attnviz.trained.recorded.recording import Recording
from attnviz.trained.recorded.shipped import load, names, of_stage, of_task

__all__ = ["Recording", "load", "names", "of_stage", "of_task"]
