"""The schedule of the learning rate of a training, in a sentence with numbers."""

from __future__ import annotations

from attnviz.formatting import counted
from attnviz.training.settings import TrainingSettings


def schedule(settings: TrainingSettings) -> str:
    """Return how the learning rate goes: at the first step, after warm-up, in the middle and at the last step."""
    last = settings.steps - 1
    steps = sorted({0, min(max(0, settings.warm_up - 1), last), last // 2, last})
    rates = ", ".join(f"{settings.rate_at(step):.3g} at step {step:,}" for step in steps)
    rises = f"rises over {counted(settings.warm_up, 'step')} and then " if settings.warm_up else ""
    then = "stays" if settings.decay == "none" else f"falls along a cosine to {settings.last_rate:g} of its value"
    return f"The learning rate {rises}{then}: {rates}."
