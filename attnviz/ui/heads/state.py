"""The view of Heads: the heads, validated when the browser sends them, and the choice between this text and a corpus.

Does not import torch or pandas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from attnviz import heads as heads_view
from attnviz.components.registration import position
from attnviz.corpus.offered import OfferedError, about, corpora, labels, statistics
from attnviz.formatting import percent
from attnviz.heads import SWITCHES, WORDS
from attnviz.links.link import KEYS
from attnviz.links.values import MAX_CHOSEN, ROLLOUT, Head, write_heads
from attnviz.measures.summary import BROAD_HEAD, shown_label
from attnviz.sources import PRETRAINED
from attnviz.sources.models import source_of
from attnviz.sources.shown import ShownHead
from attnviz.ui import state
from attnviz.ui.messages import plain

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey
    from attnviz.tokens import Tokens


def current() -> Head:
    """Return the current layer and head; the head is `ROLLOUT` for the rollout up to the layer."""
    return heads_view.current(state.get)


def view() -> dict[str, Any]:
    """Return the view's values for the explorer."""
    return heads_view.view(state.get)


def check(survey: Survey, queries: Tokens, keys: Tokens, *, rollout: bool, labels: list[str], sorts: list[str]) -> None:
    """Reset values that don't exist in this model or text, with notes; the current layer and head must exist."""
    heads = survey.overview.shape[1]
    if state.get("rollout") and not rollout:
        _reset("rollout", "There is no rollout of cross-attention: it goes from one text to another.")
    existing = tuple(
        (layer, head)
        for layer, head in state.get("chosen")
        if layer in survey.numbers and (head < heads if head != ROLLOUT else rollout)
    )
    missing = [head for head in state.get("chosen") if head not in existing]
    if missing:
        state.note(f"Not available, so not shown: {write_heads(missing).replace('_', ', ')} (layer.head).")
        state.put("chosen", existing)
    state.keep_pin(queries.labels, keys.labels)
    if state.get("label") and state.get("label") not in labels:
        _reset("label", f"No head can have the label “{state.get('label')}” here.")
    if state.get("sort") and state.get("sort") not in sorts:
        _reset("sort", f"The heads have no measure {state.get('sort')} on this text, so they keep their order.")


def take(partial: Mapping[str, object]) -> None:
    """Apply the values from the browser that a link could contain, and ignore all others.

    `check` tests whether the heads and tokens exist in this model and text.
    """
    state.apply_from_browser(partial, (*WORDS, "layer", "q", "k", "strongest", *SWITCHES))
    threshold = partial.get("threshold")
    if isinstance(threshold, int | float) and 0 <= threshold <= 1:
        state.apply_from_browser({"threshold": f"{float(threshold):.4f}"}, ("threshold",))
    if partial.get("head") == ROLLOUT:
        state.put("rollout", True)
    elif position(partial.get("head")) is not None:
        state.put("rollout", False)
        state.apply_from_browser(partial, ("head",))
    heads = read_heads(partial.get("chosen"))
    if heads:
        state.apply_from_browser({"chosen": write_heads(heads)}, ("chosen",))
    if list(state.get("chosen")) == [current()]:
        state.put("chosen", ())


def read_heads(sent: object) -> list[Head]:
    """Validate a list of [layer, head] from the browser; drop duplicates and invalid entries."""
    heads: dict[Head, None] = {}
    for pair in sent[: MAX_CHOSEN + 1] if isinstance(sent, list | tuple) else ():
        if isinstance(pair, list | tuple) and len(pair) == 2:
            layer, head = position(pair[0]), ROLLOUT if pair[1] == ROLLOUT else position(pair[1])
            if layer is not None and head is not None:
                heads[layer, head] = None
    return list(heads)


def _reset(name: str, sentence: str) -> None:
    state.note(sentence)
    state.put(name, KEYS[name].default)


class MeasureName(NamedTuple):
    """The name of a measure."""

    title: str
    unit: str
    """The unit of its values; "" for a share of the weight"""


MEASURES = {
    "entropy": MeasureName("entropy", "bits"),
    "distance": MeasureName("mean distance", "tokens"),
    "previous": MeasureName("to previous token", ""),
    "next": MeasureName("to next token", ""),
    "same": MeasureName("to same token", ""),
    "first": MeasureName("to first token", ""),
    "cls": MeasureName("to [CLS]", ""),
    "sep": MeasureName("to [SEP]", ""),
    "punctuation": MeasureName("to punctuation", ""),
}
LABELS = {
    "previous": "previous-token head",
    "next": "next-token head",
    "same": "same-token head",
    "first": "attends to the first token",
    "cls": "attends to [CLS]",
    "sep": "attends to [SEP]",
    "punctuation": "attends to punctuation",
    "diagonal": "diagonal",
    BROAD_HEAD: shown_label(BROAD_HEAD),
}
HALF = 0.5
"""The least share of sentences on which a label must hold for a head to have it"""


@dataclass(frozen=True, slots=True)
class MeasureNames:
    """The names of measures and labels for one model: in some, [CLS] is spelled `<s>`."""

    measures: dict[str, MeasureName]
    labels: dict[str, str]
    """The labels as they are said of all heads that have them"""
    limited: Mapping[int, bool]
    """By the number of a layer: whether which keys a query sees depends on the query"""

    def label(self, name: str, layer: int) -> str:
        """Return a label as it is said of a head of a layer."""
        return shown_label(name, limited=self.limited[layer]) if name == BROAD_HEAD else self.labels[name]

    @property
    def linked(self) -> dict[str, str]:
        """The labels as in `attnviz.measures.summary` and in links."""
        return self.labels | {BROAD_HEAD: BROAD_HEAD}

    def axis(self, measure: str) -> str:
        """Return the title of an axis with a measure."""
        title, unit = self.measures[measure]
        return f"{title}, {unit}" if unit else f"weight {title}"


def measure_names(survey: Survey, limited: Sequence[bool] | None = None) -> MeasureNames:
    """Return the names for the model of a survey, with its special tokens.

    Args:
        survey: the heads on a text.
        limited: for labels over a corpus, `CorpusStatistics.limited` of each layer.
    """
    limited = survey.limited if limited is None else limited
    special = {measure.name: measure for measure in survey.measures if measure.name in ("cls", "sep")}
    return MeasureNames(
        MEASURES | {name: MeasureName(measure.title, "") for name, measure in special.items()},
        LABELS
        | {BROAD_HEAD: shown_label(BROAD_HEAD, limited=any(limited))}
        | {name: measure.label for name, measure in special.items()},
        dict(zip(survey.numbers, map(bool, limited), strict=True)),
    )


NO_CORPUS = """\
There are no corpus statistics for this model: `python -m attnviz corpus FILES --model NAME` makes some, and
the setting ATTNVIZ_CORPORA shows them here."""


def corpora_of(here: ShownHead) -> dict[str, Path]:
    """Return the files with statistics of this model and kind of attention, by their names in links."""
    names = here.model.name, here.kind, here.numbers, here.heads
    return corpora(*names, on_error=lambda reason: st.warning(plain(reason)))


def over_corpus(files: Mapping[str, Path]) -> bool:
    """Return whether a corpus is chosen, before `choose_corpus`. Without corpora, switch to this text, with a note."""
    state.sync_widget("over")
    if not files and state.get("over") == "corpus":
        state.note("There are no corpus statistics for this model, so this text is shown.")
        state.put("over", "text")
    return bool(state.get("over") == "corpus")


def corpus_file(files: Mapping[str, Path], *, is_over: bool) -> Path | None:
    """Return the file of the chosen corpus, before `choose_corpus`; None if there is none. The first is "" in links.

    Args:
        files: the result of `corpora_of`.
        is_over: whether all statistics are needed, or only the labels.
    """
    state.sync_widget("corpus")
    names, name = list(files), state.get("corpus")
    if name and name not in names[1:]:
        if names and name != names[0]:
            state.note(f"There is no corpus {name} for this model, so another one is shown.")
        state.put("corpus", "")
    if not names:
        return None
    file = files[state.get("corpus") or names[0]]
    try:
        (statistics if is_over else labels)(file)
    except OfferedError as error:
        st.warning(plain(str(error)))
        return None
    return file


def choose_corpus(files: Mapping[str, Path]) -> None:
    """Show the choice between this text and a corpus, and the choice of a corpus if there are several."""
    with st.container(horizontal=True, vertical_alignment="center", width="content", key="heads_over"):
        over = state.choice(
            "over", st.segmented_control, "All heads over", required=True, label_visibility="collapsed",
            width="content",
        )  # fmt: skip
        if over == "corpus" and len(files) > 1:
            first, *others = files
            state.choice(
                "corpus", st.selectbox, "Corpus", ["", *others],
                format_func=lambda name: about(files[name or first]).corpus, label_visibility="collapsed", width=320,
            )  # fmt: skip


def corpus_shares_of_labels(here: ShownHead, file: Path | None, survey: Survey, layer: int, head: int) -> str:
    """Return a sentence with the share of a corpus on which a head's labels hold.

    These are the labels on this text, and those that hold on at least half of the sentences.
    """
    if file is None:
        is_read = source_of(here.model.name) is PRETRAINED and here.kind != "cross"
        return NO_CORPUS if is_read else ""  # the command does not support other models
    of_corpus = labels(file)
    shares = dict(of_corpus.shares.get((layer, head), ()))
    on_text, wording = survey.labels[survey.numbers.index(layer)][head], measure_names(survey, about(file).limited)
    names = [name for name, label in wording.linked.items() if label in on_text]
    names += [name for name, part in shares.items() if part >= HALF and name not in names]
    said = ", ".join(f"{plain(wording.label(name, layer))} on {percent(shares.get(name, 0.0))}" for name in names)
    said = said or "no label holds on half of them"
    return f"Layer {layer} · head {head} over {of_corpus.sentences:,} sentences: {said}."
