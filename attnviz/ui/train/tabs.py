"""The tabs of Export on the page Train: the model, and its training as an animation, as a web page, and as code.

In the part Generate, they offer the model that generates, a script that generates the same text, and its numbers. A
file is made on a click, on a thread that can't read the view, so it depends only on values passed to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import streamlit as st

from attnviz.export.code.training import NoTrainingCodeError
from attnviz.export.csv_files import MOST_LISTED
from attnviz.formatting import counted
from attnviz.pretrained.names import ModelError
from attnviz.runtime.pool import worker_pool
from attnviz.training.series import FIRST_SHOWN
from attnviz.training.settings import TEXT
from attnviz.training.text.cut import id_lines, length_of
from attnviz.ui import state
from attnviz.ui.train import generated
from attnviz.ui.train.chosen import GoneError, SnapshotName, chosen, model_file, script_of
from attnviz.ui.train.generated import File, GenerationRequest, TextModel
from attnviz.ui.train.plans import STAGES, stage_plan_of
from attnviz.ui.train.text import chosen_facts, cut_of
from attnviz.ui.training_jobs import visitor
from attnviz.ui.widgets import FileOffer, offer_files, reasons_shown

NOTHING = "Nothing was trained yet: press Train, and then open Export again."
OF_TASKS = "This is offered for trainings on tasks only."
GENERATED = "This is offered for trainings only. For a generated text, open Model, Script or Numbers."
NO_TEXT = "No text is generated: type a prompt that the model knows."
AS_OPENED = "This model is a file of your own: the script reads it as you opened it."


class NothingError(Exception):
    """A tab has nothing to offer; the message says why, in Markdown."""


def show(tab: str) -> None:
    """Show a tab by its title; if it has nothing to offer, say why."""
    try:
        with reasons_shown(ModelError, NoTrainingCodeError, GoneError):
            TABS[tab]()
    except NothingError as why:
        st.caption(str(why))


def show_model() -> None:
    """Offer the model of the snapshot on screen, or of the part Generate, as a file with its card."""
    if _generates():
        _show_generating_model()
        return
    of = _chosen()
    stem = model_file(of).stem
    _model_buttons("train_model_export", stem, lambda: model_file(of).data, lambda: model_file(of).card_file())
    st.caption(
        f"The model after {counted(of.step, 'step')}, in float16. *Open a model's file* opens it again, here or in "
        "another attnviz; a notebook reads it with `attnviz.trained.shipped.keep`. The card says how it was trained "
        "and how good it is."
    )


def _show_generating_model() -> None:
    _, file = _generating()
    if file.data is None or file.card is None:
        st.caption(AS_OPENED)
        return
    data, card = file.data, file.card
    _model_buttons("generate_model_export", file.stem, lambda: data, lambda: card)
    st.caption("The model that generates, in float16. The card says how it was trained and how good it is.")


def _model_buttons(key: str, stem: str, data: Callable[[], bytes], card: Callable[[], bytes]) -> None:
    """Offer a model's file and its card, in a row with this key."""
    model = FileOffer("Model (safetensors)", f"{stem}.safetensors", data, "export_model")
    offer_files(key, model, FileOffer("Card (JSON)", f"{stem}.json", card, "export_card"))


def show_animation() -> None:
    """Offer the head on screen over the whole training as GIF and as animated PNG."""
    from attnviz.ui.train.exports import frames_of, moving_picture  # takes half a second

    of = _of_task()
    count = frames_of(of)
    if not count:
        st.caption("This model has no attention: there is nothing to see forming.")
        return
    gif = FileOffer("GIF", f"training-{of.task}.gif", partial(moving_picture, of, "gif"), "export_gif")
    png = FileOffer("Animated PNG", f"training-{of.task}.png", partial(moving_picture, of, "apng"), "export_apng")
    offer_files("train_animation_export", gif, png)
    st.caption(
        f"The head that is shown large, on this text: {counted(count, 'snapshot')}, one after another, with step and "
        "accuracy in the picture. Making it takes some seconds. Slides and web pages play both; the PNG has all "
        "colours."
    )


def show_page() -> None:
    """Offer all trainings on screen as one interactive web page that needs no server."""
    from attnviz.export.web import iframe
    from attnviz.ui.train.exports import title_of_page, training_file

    of = _of_task()
    file = f"attnviz-training-{of.task}.html"
    offer_files("train_web_export", FileOffer("Interactive page", file, lambda: training_file(of), "export_page"))
    st.caption(
        "One file that any browser opens, also from a disk: the curves, and the heads at each snapshot, to be "
        "gone through and played without a server or a network. To show it in slides or in a course's page, put the "
        "file beside them and add:"
    )
    st.code(iframe(file, title_of_page(of)), language="html", wrap_lines=True)


def show_script() -> None:
    """Offer a script of plain torch that trains the same model to the same losses, or that generates the same text."""
    if _generates():
        _show_generation_script()
        return
    of = _chosen()
    script_of(of)
    script = FileOffer("Script", f"train_{of.task}.py", lambda: script_of(of).encode(), "export_script")
    offer_files("train_script_export", script)
    st.caption("Plain torch, without attnviz: it trains the same model to the same losses, and compares them.")


def _show_generation_script() -> None:
    asked, file = _generated()
    script = _made(lambda: generated.script_of(asked, file).encode())
    offer_files("generate_script_export", FileOffer("Script", "generate.py", script, "export_script"))
    st.caption(
        "Plain torch, without attnviz: it generates the same text from the model's file, which *Model* gives, and "
        f"compares it. {AS_OPENED if file.data is None else ''}"
    )


def show_numbers() -> None:
    """Offer the curves of all trainings on screen, or every draw of a generated text."""
    if _generates():
        _show_draws()
        return
    from attnviz.ui.train.exports import curves_csv, shown_curves

    if state.get("train_part") == TEXT:
        _show_ids()
    _chosen()
    trainings = shown_curves()
    curves = FileOffer("Curves (CSV)", "curves.csv", lambda: curves_csv(trainings), "export_curves")
    offer_files("train_numbers_export", curves)
    st.caption(
        "Of each training that is shown: the loss of each step and, where they were measured, loss and accuracy on "
        "held-out data and all other curves. As pictures, the curves are in the first tab."
    )


def _show_draws() -> None:
    """Offer every draw as a table, and the text."""
    asked, _ = _generated()
    draws = FileOffer("Every draw (CSV)", "draws.csv", _made(lambda: generated.numbers_of(asked)), "export_draws")
    text = FileOffer("Text", "generated.txt", _made(lambda: generated.text_of(asked).encode()), "export_text")
    offer_files("generate_numbers_export", draws, text)
    few = (
        "each character"
        if len(asked.model.labels) <= MOST_LISTED
        else f"each of the {MOST_LISTED} likeliest characters"
    )
    st.caption(
        f"A row for each draw and {few}: logit, logit / T, probability, what top-k and top-p leave of it, and "
        "which was drawn. The text is the prompt and what was generated."
    )


def _show_ids() -> None:
    """Offer the training part of the text as JSON lines of ids, and say how long the data set is."""
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


def _generates() -> bool:
    return bool(state.get("train_part") == "generate")


def _chosen() -> SnapshotName:
    """Return the snapshot on screen; if nothing was trained yet, say what to do."""
    snapshot = chosen()
    if snapshot is None:
        raise NothingError(GENERATED if _generates() else NOTHING)
    return snapshot


def _of_task() -> SnapshotName:
    """Return a task's snapshot on screen; for a text, say that there is nothing."""
    snapshot = _chosen()
    if snapshot.task == TEXT:
        raise NothingError(OF_TASKS)
    return snapshot


def _generating() -> tuple[TextModel, File]:
    """Return the model that generates, and its file."""
    model = generated.chosen_model()
    return model, generated.file_of(model, visitor())


def _generated() -> tuple[GenerationRequest, File]:
    """Return the text to generate, and its model's file; if there is none, say why."""
    model, file = _generating()
    asked = generated.asked_of(model, *generated.prompt_and_truth(generated.tokens_of(model)))
    if asked is None:
        raise NothingError(NO_TEXT)
    return asked, file


def _made(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a function that makes a file in the worker pool, since that runs the model."""
    return lambda: worker_pool().run(make)


TABS = {
    "Model": show_model,
    "Animation": show_animation,
    "Web page": show_page,
    "Script": show_script,
    "Numbers": show_numbers,
}
"""Keyed by title"""
