"""The tabs of Export on the page Train: the model, and its training as an animation, as a web page, and as code.

Imports that need torch are delayed until a tab opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import counted
from attnviz.training.settings import TEXT
from attnviz.ui import state
from attnviz.ui.shell import Tabs
from attnviz.ui.widgets import FileOffer, offer_files, reasons_shown

if TYPE_CHECKING:
    from attnviz.export.files.images import AnimationKind
    from attnviz.ui.train.chosen import SnapshotName


NOTHING = "Nothing was trained yet: press Train, and then open Export again."
OF_TASKS = "This is offered for trainings on tasks only."
GENERATED = "This is offered for trainings only. For a generated text, open Model, Script or Numbers."


def _show_model() -> None:
    """Offer the model of the snapshot on screen, or of the part Generate, as a file with its card."""
    if state.get("train_part") == "generate":
        from attnviz.ui.train.generate_exports import show_model

        show_model()
        return

    from attnviz.pretrained.names import ModelError
    from attnviz.ui.train.chosen import model_buttons, model_file

    of = _chosen()
    if of is None:
        return
    with reasons_shown(ModelError, LookupError):
        stem = model_file(of).stem
        model_buttons("train_model_export", stem, lambda: model_file(of).data, lambda: model_file(of).card_file())
        st.caption(
            f"The model after {counted(of.step, 'step')}, in float16. *Open a model's file* opens it again, here or in "
            "another attnviz; a notebook reads it with `attnviz.trained.shipped.keep`. The card says how it was "
            "trained and how good it is."
        )


def _show_animation() -> None:
    """Offer the head on screen over the whole training as GIF and as animated PNG."""
    from attnviz.ui.train.exports import frames_of, moving_picture

    of = _of_task()
    if of is None:
        return
    count = frames_of(of)
    if not count:
        st.caption("This model has no attention: there is nothing to see forming.")
        return

    def write(kind: AnimationKind) -> Callable[[], bytes]:
        return lambda: moving_picture(of, kind)

    gif = FileOffer("GIF", f"training-{of.task}.gif", write("gif"), "export_gif")
    png = FileOffer("Animated PNG", f"training-{of.task}.png", write("apng"), "export_apng")
    offer_files("train_animation_export", gif, png)
    st.caption(
        f"The head that is shown large, on this text: {counted(count, 'snapshot')}, one after another, with step and "
        "accuracy in the picture. Making it takes some seconds. Slides and web pages play both; the PNG has all "
        "colours."
    )


def _show_page() -> None:
    """Offer all trainings on screen as one interactive web page that needs no server."""
    from attnviz.export.web import iframe
    from attnviz.ui.train.exports import title_of_page, training_file

    of = _of_task()
    if of is None:
        return
    file = f"attnviz-training-{of.task}.html"
    offer_files("train_web_export", FileOffer("Interactive page", file, lambda: training_file(of), "export_page"))
    st.caption(
        "One file that any browser opens, also from a disk: the curves, and the heads at each snapshot, to be "
        "gone through and played without a server or a network. To show it in slides or in a course's page, put the "
        "file beside them and add:"
    )
    st.code(iframe(file, title_of_page(of)), language="html", wrap_lines=True)


def _show_script() -> None:
    """Offer a script of plain torch that trains the same model to the same losses, or that generates the same text."""
    if state.get("train_part") == "generate":
        from attnviz.ui.train.generate_exports import show_script

        show_script()
        return

    from attnviz.export.code.training import NoTrainingCodeError
    from attnviz.ui.train.chosen import script_of

    of = _chosen()
    if of is None:
        return
    with reasons_shown(NoTrainingCodeError, LookupError):
        script_of(of)
        script = FileOffer("Script", f"train_{of.task}.py", lambda: script_of(of).encode(), "export_script")
        offer_files("train_script_export", script)
        st.caption("Plain torch, without attnviz: it trains the same model to the same losses, and compares them.")


def _show_numbers() -> None:
    """Offer the curves of all trainings on screen, or every draw of a generated text."""
    if state.get("train_part") == "generate":
        from attnviz.ui.train.generate_exports import show_numbers

        show_numbers()
        return
    from attnviz.ui.train.exports import curves_csv, shown_curves

    if state.get("train_part") == TEXT:
        _show_ids()
    if _chosen() is None:
        return
    trainings = shown_curves()
    curves = FileOffer("Curves (CSV)", "curves.csv", lambda: curves_csv(trainings), "export_curves")
    offer_files("train_numbers_export", curves)
    st.caption(
        "Of each training that is shown: the loss of each step and, where they were measured, loss and accuracy on "
        "held-out data and all other curves. As pictures, the curves are in the first tab."
    )


def _show_ids() -> None:
    """Offer the training part of the text as JSON lines of ids, and say how long the data set is."""
    from attnviz.training.series import FIRST_SHOWN
    from attnviz.training.text.cut import id_lines, length_of
    from attnviz.ui.train.plans import STAGES, stage_plan_of
    from attnviz.ui.train.text_choice import chosen_facts, cut_of

    facts = chosen_facts()
    plan = stage_plan_of(STAGES[state.get("rung") or FIRST_SHOWN], len(facts.labels), state.get)
    train, most = facts.text[: facts.train], plan.block_size

    def lines() -> Iterator[str]:
        return id_lines(train, facts.labels, plan.cut, most)

    ids = FileOffer("Ids (JSON lines)", "ids.jsonl", lambda: "\n".join([*lines(), ""]).encode(), "export_ids")
    offer_files("train_ids_export", ids)
    if plan.cut == "blocks":
        places = length_of(len(train), most)
        length = f"len(dataset) is {places:,}: a block of {counted(most, 'character')} can begin at as many places."
    else:
        length = f"len(dataset) is {counted(cut_of(facts, plan)['lines']['sequences'], 'sequence')}."
    st.caption(f"{length} The file has a line for each sequence, of blocks one after another:")
    st.code("\n".join(islice(lines(), 2)), language="json")


def _chosen() -> SnapshotName | None:
    """Return the snapshot on screen; if nothing was trained yet, say what to do."""
    from attnviz.ui.train.chosen import chosen

    snapshot = chosen()
    if snapshot is None:
        st.caption(GENERATED if state.get("train_part") == "generate" else NOTHING)
    return snapshot


def _of_task() -> SnapshotName | None:
    """Return a task's snapshot on screen; for a text, say that there is nothing."""
    snapshot = _chosen()
    if snapshot is not None and snapshot.task == TEXT:
        st.caption(OF_TASKS)
        return None
    return snapshot


EXPORTS: Tabs = MappingProxyType(
    {
        "Model": _show_model,
        "Animation": _show_animation,
        "Web page": _show_page,
        "Script": _show_script,
        "Numbers": _show_numbers,
    }
)
"""Keyed by title"""
