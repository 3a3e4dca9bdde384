"""The explanations below the explorer: how its numbers are computed, and what attention can't explain."""

from __future__ import annotations

import streamlit as st

from attnviz.formatting import number
from attnviz.formulas import latex
from attnviz.measures.labels import MIN_BROAD_ENTROPY, MIN_SHARE, MIN_TIMES_UNIFORM
from attnviz.measures.summary import Measure
from attnviz.measures.survey import Survey
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain

ROWS = r"""Each measure is the mean, over all queries $i$ that see a key, of one number from the query's row of
weights $\alpha_{i1}, \dots, \alpha_{iT}$. $S$ are the keys that a measure names. The last column is
the value of uniform attention over the visible keys."""

LABELS = f"""A head is **named** after what gets at least {MIN_SHARE:.0%} of its weight, where that is at least
{MIN_TIMES_UNIFORM:g} times what uniform attention would give it. It is *diagonal* where only the previous, the same and
the next token together come to that, and it *looks everywhere* where its entropy is at least
{MIN_BROAD_ENTROPY:.0%} of uniform attention's. Names hold for this text, and perhaps for no other."""

ROLLOUT = r"""**Attention rollout** (Abnar and Zuidema 2020) follows attention down to the words. With
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


def show_measures(survey: Survey) -> None:
    """Explain how each number is computed."""
    st.markdown(ROWS)
    st.markdown(measures_table(survey.measures, survey.uniform.tolist()))
    for text in (LABELS, ROLLOUT, NORMS, EXACT):
        st.markdown(text)


def measures_table(measures: tuple[Measure, ...], uniform: list[float]) -> str:
    """Return the measures as a Markdown table: name, formula, source, and value of uniform attention."""
    lines = ["| Measure | For query $i$ | After | Uniform |", "| --- | --- | --- | ---: |"]
    for one, level in zip(measures, uniform, strict=True):
        shown = "–" if level != level else f"{number(level, 3)} {one.unit}".strip()  # noqa: PLR0124 — NaN
        formula = latex(one.formula, palette().text_ink.of)
        lines.append(f"| {plain(one.title)} | ${formula}$ | {one.source} | {shown} |")
    return "\n".join(lines)


def show_care() -> None:
    """Explain what attention can't explain."""
    st.markdown(CARE)
