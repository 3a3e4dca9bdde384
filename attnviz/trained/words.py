"""What pages say of a trained model, from its card."""

from __future__ import annotations

from attnviz.formatting import counted, number
from attnviz.trained.model import TrainedModel

TEXTS = ("To be, or not to be: ", "To see, or not to see: ")
"""For models that were trained on a text"""


def about(model: TrainedModel) -> str:
    """Say what the model was trained on and how good it became on what it was not trained on."""
    card, planned = model.card, model.plan.training.steps
    steps = planned if card.after is None else card.after
    task = model.task
    if task is None:
        name = "a text" if card.corpus is None else f"{card.corpus.name}, {card.corpus.characters:,} characters"
        return (
            f"Trained on {name}, to predict the next character: {counted(steps, 'step')}. On the part that it was not "
            f"trained on, its loss is {number(card.loss, 2)} nats a character."
        )
    right, end = number(100 * card.accuracy, 1), "" if task.title[-1] in "?!." else "."
    if card.files is not None:
        usual = number(100 * card.files.right / max(1, card.files.words), 1)
        return (
            f"{task.title}{end} After {counted(steps, 'step')} {right} % of the words of its test file have the right "
            f"tag; with each word's most frequent tag, {usual} % have."
        )
    return f"{task.title}{end} After {counted(steps, 'step')} {right} % of what it was not trained on is right."


def heads(model: TrainedModel) -> tuple[tuple[str, str, int, int], ...]:
    """Return the heads that do the task: what each does and how much, the kind of attention, the layer, the head."""
    if model.task is None:
        return ()
    found = []
    for pattern in model.task.patterns:
        head = model.card.heads.get(pattern.name)
        if head is not None:
            says = f"Layer {head.layer}, head {head.head}: {pattern.title} ({number(head.score, 2)})"
            found.append((says, head.kind, head.layer, head.head))
    return tuple(found)


def examples(model: TrainedModel) -> tuple[str, ...]:
    """Return texts for which the model is made."""
    return TEXTS if model.task is None else model.task.examples
