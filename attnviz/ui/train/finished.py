"""What becomes of a trained model: a file, and a model that the other pages show."""

from __future__ import annotations

import hashlib
from functools import cache

import streamlit as st

from attnviz.export.code.training import training_script
from attnviz.links.link import KEYS, write_link
from attnviz.links.pages import PAGES
from attnviz.pretrained.names import ModelError
from attnviz.runtime.cache import SingleFlightCache
from attnviz.runtime.pool import worker_pool
from attnviz.trace.model import places
from attnviz.trained.model import TrainedModel
from attnviz.trained.shipped import keep
from attnviz.trained.snapshots import ModelFile, file_of
from attnviz.training.plan import TEXT
from attnviz.training.tagged.files import TaggedFiles
from attnviz.ui import state
from attnviz.ui.plain import plain
from attnviz.ui.train import commands
from attnviz.ui.train.chosen import Chosen, chosen
from attnviz.ui.trained import own
from attnviz.ui.waiting import queue_note

FILE_BYTES = 32 * 2**20
"""Of files that were made lately: hundreds of a task's models"""
OPENS = ("step_by_step", "heads", "compare", "transformer")
"""The pages that show a trained model, by name"""


def model_file(of: Chosen) -> ModelFile:
    """Return a snapshot's model as a file. On any thread.

    Raises:
        ModelError: there can be no such file.
        LookupError: the training is no longer there.
    """
    job, snapshot = of.job(), of.snapshot()

    def make() -> ModelFile:
        return file_of(job.plan, snapshot, job.view.losses, data=job.data)

    with queue_note() as on_wait:
        return _files().get((of.visitor, of.number, of.recording, snapshot.step), make, on_wait)


@cache
def _files() -> SingleFlightCache[ModelFile]:
    return SingleFlightCache("trained files", FILE_BYTES, worker_pool())


def script_of(of: Chosen) -> str:
    """Return a script of plain torch that trains the same model to the same losses.

    Raises:
        NoTrainingCodeError: there is none for such a training.
        LookupError: the training is no longer there.
    """
    job = of.job()
    losses, last = job.view.losses, len(job.view.losses) - 1
    shown = {step: float(losses[step]) for step in sorted({*range(0, last + 1, max(1, last // 20)), last}) if step >= 0}
    digest = None if job.text is None else hashlib.sha256(job.text.encode(errors="replace")).hexdigest()
    files = job.data if isinstance(job.data, TaggedFiles) else None
    return training_script(job.plan, sha256=digest, files=files, losses=shown)


def open_if_asked() -> None:
    """Go to the page on which the visitor wants to see the shown model; say why where that can't be."""
    own.go_if_opened()
    page, of = commands.page_to_open(), chosen()
    if page == "generate" and of is not None and of.task == TEXT:
        state.go_to_page(PAGES["train"].script, link_to_generate(of))
    if page not in OPENS or of is None:
        return
    try:
        link = link_to(of, page)
    except (ModelError, LookupError) as why:
        st.warning(plain(str(why)))
        return
    state.go_to_page(PAGES[page].script, link)


def link_to_generate(of: Chosen) -> dict[str, str]:
    """Return the link of the part Generate with a snapshot of a training on a text, and what was typed for it."""
    last = of.job().view.snapshots[-1].step
    view = state.every() | {
        "train_part": "generate", "text_model": f"run-{of.number}", "snapshot": None if of.step == last else of.step,
        "prompt": state.get("sample"), "watch": "", "drawn": KEYS["drawn"].default,
    }  # fmt: skip
    return write_link(view, PAGES["train"].link_keys(None))


def link_to(of: Chosen, page: str) -> dict[str, str]:
    """Keep a snapshot's model, and return the link that shows it on a page with the text and head of this one.

    Compare shows it as A, and beside it as B the same model before its training.

    Raises:
        ModelError: no page can show it.
        LookupError: the training is no longer there.
    """
    model, head = _kept(of), of.head()
    view = {name: key.default for name, key in KEYS.items()}
    view |= {"text": of.sample, "source": "trained", "model": model.name, "step": "weights"}
    if head is not None:
        place, number = head
        there = [(one.kind, one.layer) for one in places(model.description.numbers)]
        view |= {"kind": place.kind, "layer": place.layer, "head": number}
        view["block"] = there.index((place.kind, place.layer))
    if page == "compare" and of.step:
        view["b_model"] = _kept(of.at(0)).name
    return PAGES[page].write(view, PAGES[page].link_keys(None if page == "heads" else "trained"))


def _kept(of: Chosen) -> TrainedModel:
    model = keep(model_file(of).data)
    own.add(model.name)
    return model
