"""What Export offers for a generated text: the model's file, the script that generates it, and the numbers.

A file is made on a click, on a thread that can't read the view, so it depends only on values passed to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from attnviz.export.code.training.script import generation_script
from attnviz.export.csv_files import MOST_LISTED, draws_csv
from attnviz.pretrained.names import ModelError
from attnviz.runtime.pool import worker_pool
from attnviz.trained.shipped import FOLDER, is_kept, load
from attnviz.training.generation import GeneratedToken, generate
from attnviz.training.settings import TEXT
from attnviz.ui.train.chosen import SnapshotName, model_buttons, model_file
from attnviz.ui.train.generated import GenerationRequest, TextModel, asked_of, chosen_model, prompt_and_truth, tokens_of
from attnviz.ui.training_jobs import visitor
from attnviz.ui.widgets import FileOffer, offer_files, reasons_shown

NOTHING = "No text is generated: type a prompt that the model knows."
AS_OPENED = "This model is a file of your own: the script reads it as you opened it."


class File(NamedTuple):
    """A model's file, from which the script loads the weights."""

    stem: str
    sha256: str
    data: bytes | None
    """None if it is the visitor's own file"""
    card: bytes | None


def file_of(model: TextModel, visitor: str) -> File:
    """Return a text model's file.

    Raises:
        ModelError: as `model_file` does, or the model is no longer there.
        LookupError: its training is no longer there.
    """
    if model.job:
        file = model_file(SnapshotName(visitor, TEXT, model.job, model.step, "", ""))
        return File(file.stem, hashlib.sha256(file.data).hexdigest(), file.data, file.card_file())
    digest = load(model.name).digest
    if is_kept(model.name):
        return File(model.name, digest, None, None)
    return File(
        model.name, digest, *((FOLDER / f"{model.name}.{kind}").read_bytes() for kind in ("safetensors", "json"))
    )


def drawn_of(asked: GenerationRequest) -> list[GeneratedToken]:
    """Return all draws; raises NotOfferedError if the model is no longer there."""
    return list(generate(asked.model.load(), asked.ids, asked.count, asked.sampling, cached=asked.cached))


def text_of(asked: GenerationRequest) -> str:
    """Return the whole text: the prompt, and what is generated. Raises as `drawn_of`."""
    return "".join(asked.model.labels[token] for token in (*asked.ids, *(draw.id for draw in drawn_of(asked))))


def numbers_of(asked: GenerationRequest) -> bytes:
    """Return every draw as CSV. Raises as `drawn_of`."""
    return draws_csv(drawn_of(asked), asked.model.labels, begin=len(asked.ids))


def script_of(asked: GenerationRequest, file: File) -> str:
    """Return a script of plain torch that generates the same text from the model's file. Raises as `drawn_of`."""
    return generation_script(
        asked.model.config, asked.model.labels, asked.sampling, ids=asked.ids,
        generated=[draw.id for draw in drawn_of(asked)], file=f"{file.stem}.safetensors", sha256=file.sha256,
    )  # fmt: skip


def show_model() -> None:
    """Offer the file of the model that generates, and its card."""
    chosen = _chosen()
    if chosen is None:
        return
    _, file = chosen
    if file.data is None or file.card is None:
        st.caption(AS_OPENED)
        return
    data, card = file.data, file.card
    model_buttons("generate_model_export", file.stem, lambda: data, lambda: card)
    st.caption("The model that generates, in float16. The card says how it was trained and how good it is.")


def show_script() -> None:
    """Offer a script of plain torch that generates the same text."""
    shown = _shown()
    if shown is None:
        return
    asked, file = shown
    script = _made(lambda: script_of(asked, file).encode())
    offer_files("generate_script_export", FileOffer("Script", "generate.py", script, "export_script"))
    st.caption(
        "Plain torch, without attnviz: it generates the same text from the model's file, which *Model* gives, and "
        f"compares it. {AS_OPENED if file.data is None else ''}"
    )


def show_numbers() -> None:
    """Offer every draw as a table, and the text."""
    shown = _shown()
    if shown is None:
        return
    asked, _ = shown
    draws = FileOffer("Every draw (CSV)", "draws.csv", _made(lambda: numbers_of(asked)), "export_draws")
    text = FileOffer("Text", "generated.txt", _made(lambda: text_of(asked).encode()), "export_text")
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


def _chosen() -> tuple[TextModel, File] | None:
    """Return the chosen model and its file; if there is none, say why."""
    with reasons_shown(ModelError, LookupError):
        model = chosen_model()
        return model, file_of(model, visitor())
    return None


def _shown() -> tuple[GenerationRequest, File] | None:
    """Return the text to generate, and its model's file; if there is none, say why."""
    chosen = _chosen()
    if chosen is None:
        return None
    model, file = chosen
    asked = asked_of(model, *prompt_and_truth(tokens_of(model)))
    if asked is None:
        st.caption(NOTHING)
        return None
    return asked, file


def _made(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """Return a function that makes a file in the worker pool, since that runs the model."""
    return lambda: worker_pool().run(make)
