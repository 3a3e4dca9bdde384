"""The main part of Heads: a caution, the explorer, and below it the table and the explanations.

The browser requests the weights of all heads of a text as files (see `runtime.arrays`). The page imports this module
after showing the controls, because it imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from attnviz.components.explorer import explorer
from attnviz.components.updates import acknowledged
from attnviz.corpus.offered import statistics
from attnviz.formatting import number, percent
from attnviz.formulas import latex
from attnviz.heads.all_heads import Part, explorer_payload, list_files, write_part
from attnviz.links.link import KEYS
from attnviz.links.pages import PAGES
from attnviz.links.values import ROLLOUT
from attnviz.measures.summary import MIN_BROAD_ENTROPY, MIN_SHARE, MIN_TIMES_UNIFORM, Measure, possible_labels
from attnviz.measures.survey import Survey, survey_name
from attnviz.pretrained import ModelError
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.sources.models import source_of
from attnviz.sources.shown import ShownHead
from attnviz.steps.inputs import shared_keys_in
from attnviz.tokens import NoTokensError
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from attnviz.ui import caches, shell, state
from attnviz.ui.heads import state as heads_state
from attnviz.ui.heads.state import measure_names
from attnviz.ui.messages import plain
from attnviz.ui.places import page_link
from attnviz.ui.sources import RESOURCES, settle
from attnviz.ui.widgets import palette


@dataclass(frozen=True, slots=True)
class Heads:
    """All heads of one kind of attention on a text, by name only: without tensors, so that an offer can keep it."""

    model: str
    text: str
    pair: str | None
    kind: Kind
    name: str
    """`survey_name` of the trace"""

    def trace(self) -> Trace:
        """Return the trace, from the cache or computed again.

        Raises:
            NotOfferedError: the model can no longer be loaded, or now gives other numbers.
        """
        try:
            trace = caches.trace(caches.named(self.model), self.text, self.pair)
        except (ModelError, NoTokensError) as error:
            raise NotOfferedError from error
        if survey_name(trace, self.kind) != self.name:
            raise NotOfferedError
        return trace

    def write(self, part: Part) -> bytes:
        """Return a file; raises as `trace` does."""
        trace = self.trace()
        return write_part(
            part,
            trace,
            self.kind,
            survey=lambda: caches.survey(trace, self.kind, self.name),
            rolled=lambda: caches.rolled_out(trace, self.kind, self.name),
        )


def offer_arrays(of: Heads, survey: Survey, *, rollout: bool) -> dict[str, Any]:
    """Offer all files; return their digests with the contents of each, for the browser (see `list_files`)."""
    store = array_store()

    def offer(part: Part) -> str:
        # Thumbnails compress well; weights hardly do.
        compress = part.what == "shared" and not part.heads
        return store.offer(("heads", of.model, of.kind, of.name, *part), partial(of.write, part), compress=compress)

    return list_files(survey, offer, rollout=rollout)


CAUTION = "A weight says where a head looks, not why: see *With care*, below."
ROWS = r"""Each measure is the mean, over all queries $i$ that see a key, of one number from the query's row of
weights $\alpha_{i1}, \dots, \alpha_{iT}$. $S$ are the keys that a measure names. The last column is
the value of uniform attention over the visible keys."""
ROWS_WITH_SINK = r"""Here a sink takes a share of each row, so the $\alpha_{ij}$ of a row sum to less than 1. For
the entropy and the mean distance, each row is divided by its sum first: they are about how a query shares out what it
gives to keys. The other measures use the $\alpha_{ij}$ as they are."""
LABELS = f"""A head is **named** after what gets at least {percent(MIN_SHARE)} of its weight, where that is at least
{MIN_TIMES_UNIFORM:g} times what uniform attention would give it. It is *diagonal* where only the previous, the same and
the next token together come to that, and it *looks everywhere* where its entropy is at least
{percent(MIN_BROAD_ENTROPY)} of uniform attention's; with a causal mask or a window, it looks *everywhere it may*.
Uniform attention gives the same weight to each key that a query sees in that layer. Names hold for this text, and
perhaps for no other."""
ROLLOUT_TEXT = r"""**Attention rollout** (Abnar and Zuidema 2020) follows attention down to the words. With
$A_l$ the mean of the heads of layer $l$, the rows of $\tfrac12 A_l + \tfrac12 I$ divided by their sums are
$\hat A_l$; the rollout is $R_0 = \hat A_0$, then $R_l = \hat A_l\, R_{l-1}$. Its rows sum to 1. It knows nothing of
the values or of the feed-forward blocks."""
NORMS = r"""**Norm-weighted** values (Kobayashi et al. 2020) are the lengths of what is really added up:
key $j$ gives query $i$ the vector $\alpha_{ij} f(x_j)$ with $f(x) = (x W_V + b_V)\, W_O$, $W_O$ being this head's
rows, so its length is $\alpha_{ij}\, \lVert f(x_j) \rVert$. Where $W_O$ is not known, there are none."""
EXACT = r"""**Exact to 4 digits.** Weights travel to the browser as whole numbers, $\mathrm{rint}(65535\,\alpha)$, so
each is within $7.7 \cdot 10^{-6}$ of the one that the model computed. Measures are computed from the full 32-bit
numbers."""
CARE = """**A weight is not a reason.** It says how much of a key's *value* goes into this head's output for this
query. What the model makes of it, in this layer's output projection, in the feed-forward blocks, in all the layers
above, it does not say.

- *Other weights, the same answer.* Jain and Wallace (2019) shuffled attention weights and built quite different ones,
  and their models' answers hardly changed; and weights agreed badly with what the answers did depend on. Wiegreffe
  and Pinter (2019) answered that this depends on the task and on what one calls an explanation. To find out what an
  answer depends on, change the input and look at the answer.
- *A large weight may carry little.* Kobayashi et al. (2020) found that BERT gives separators, and often punctuation,
  large weights and short vectors: a head that looks at [SEP] may be a head that does nothing there. Choose
  **norm-weighted** under *Values* to see both together.
- *Deeper layers don't see words.* From layer 1 on, a position holds a mixture of the whole text; a weight on “cat” is
  a weight on that mixture. Rollout takes this into account, and nothing else.
- *A name is a summary.* “Previous-token head” describes where this head looks in this text, not what it is for.

Jain and Wallace 2019, *Attention is not Explanation*, arXiv:1902.10186 · Wiegreffe and Pinter 2019, *Attention is not
not Explanation*, arXiv:1908.04626 · Kobayashi, Kuribayashi, Yokoi and Inui 2020, *Attention is Not Only a Weight:
Analyzing Transformers with Vector Norms*, arXiv:2004.10102 · Abnar and Zuidema 2020, *Quantifying Attention Flow in
Transformers*, arXiv:2005.00928 · Clark, Khandelwal, Levy and Manning 2019, *What Does BERT Look At?*,
arXiv:1906.04341 · Vig and Belinkov 2019, *Analyzing the Structure of Attention in a Transformer Language Model*,
arXiv:1906.04284"""


def show_heads(here: ShownHead) -> None:
    """Show all heads of a text and kind of attention.

    Raises:
        attnviz.tokens.NoTokensError: the text has no tokens for this model.
    """
    # A container for notes, so that they do not change the explorer's position in the element tree.
    notes = st.container()
    kind, trace = here.kind, here.trace(RESOURCES)
    survey = caches.survey(trace, kind, survey_name(trace, kind))
    queries, keys = trace.query_tokens(kind), trace.key_tokens(kind)
    with notes:
        for tokens in dict.fromkeys((queries, keys)):
            shell.token_notes(tokens)
        settle(here)
        corpora = heads_state.corpora_of(here)
        is_over_corpus = heads_state.over_corpus(corpora)
        file = heads_state.corpus_file(corpora, is_over=is_over_corpus)
        if file is None or not is_over_corpus:
            shell.hidden_word_note(here)
        sorts, labels = [measure.name for measure in survey.measures], possible_labels(survey.measures)
        if file is not None and is_over_corpus:
            sorts, labels = list(statistics(file)[0].present), list(measure_names(survey).linked.values())
        heads_state.check(survey, queries, keys, rollout=kind != "cross", labels=labels, sorts=sorts)
    with st.container(key="heads_top", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if corpora and not state.get("lecture"):
            heads_state.choose_corpus(corpora)
        if file is None or not is_over_corpus:
            numbers = trace.numbers_of(kind)
            shared = shared_keys_in(dict(zip(numbers, trace.layers[kind], strict=True)))
            _say_what_labels_are(here, file, survey, shared)
        _way_to_steps(here)
    if file is not None and is_over_corpus:
        from attnviz.ui.heads.corpus import show_corpus  # reading statistics takes a second the first time

        show_corpus(file, survey)
        return
    heads = Heads(here.model.name, here.text, here.pair, kind, survey.name)
    files = offer_arrays(heads, survey, rollout=kind != "cross")
    view, known = heads_state.view(), acknowledged("explorer")
    payload = explorer_payload(trace, kind, survey, files, view, acknowledged=known)
    explorer(*payload, key="explorer", on_view=heads_state.take)
    _show_more(trace, kind, survey)


def _show_more(trace: Trace, kind: Kind, survey: Survey) -> None:
    """Show what is chosen below the picture, if anything is."""
    more = state.choice("more", st.segmented_control, "More", label_visibility="collapsed")
    if more == "table":
        from attnviz.ui.heads.table import show_table  # pandas takes a third of a second to import

        show_table(survey)
    elif more == "off":
        from attnviz.ui.heads.switched_off import show_switched_off

        show_switched_off(trace, kind, survey)
    elif more == "measures":
        show_measures(survey, has_sinks=any(layer.sinks is not None for layer in trace.layers[kind]))
    elif more == "care":
        st.markdown(CARE)


def _say_what_labels_are(here: ShownHead, file: Path | None, survey: Survey, shared: str) -> None:
    """Show the caution, on which share of a corpus the labels of the current head hold, and which heads share keys."""
    layer, head = heads_state.current()
    said = heads_state.corpus_shares_of_labels(here, file, survey, layer, head) if head != ROLLOUT else ""
    with st.container(key="heads_caution", width="content"):
        st.caption("  \n".join(filter(None, (CAUTION, said, shared))))


def _way_to_steps(here: ShownHead) -> None:
    """Link to the same head in Step by step, with this page's settings, so that going back restores them."""
    layer, head = state.get("layer"), state.get("head")
    view = state.every() | {"source": source_of(here.model.name).key, "step": "weights"}
    page_link(
        "step_by_step",
        f"Layer {layer} · head {head}, step by step",
        PAGES["step_by_step"].write(view, KEYS),
        icon=":material/arrow_forward:",
        icon_position="right",
    )


def show_measures(survey: Survey, *, has_sinks: bool) -> None:
    """Explain how each number is computed."""
    st.markdown(f"{ROWS} {ROWS_WITH_SINK}" if has_sinks else ROWS)
    st.markdown(_measures_table(survey.measures, survey.uniform.tolist()))
    for text in (LABELS, ROLLOUT_TEXT, NORMS, EXACT):
        st.markdown(text)


def _measures_table(measures: tuple[Measure, ...], uniform: list[float]) -> str:
    """Return the measures as a Markdown table: name, formula, source, and value of uniform attention."""
    lines = ["| Measure | For query $i$ | After | Uniform |", "| --- | --- | --- | ---: |"]
    for measure, level in zip(measures, uniform, strict=True):
        shown = "–" if level != level else f"{number(level, 3)} {measure.unit}".strip()  # noqa: PLR0124 — NaN
        formula = latex(measure.formula, palette().text_ink.of)
        lines.append(f"| {plain(measure.title)} | ${formula}$ | {measure.source} | {shown} |")
    return "\n".join(lines)
