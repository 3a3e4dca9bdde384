"""A first language model: its path, what comes out of it, its attention, and what a mask hides."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.table import table_of
from attnviz.figures.style import escape
from attnviz.formatting import nonzero, number
from attnviz.links.bert import MAX_BLOCKS
from attnviz.links.link import KEYS, MAX_OTHER
from attnviz.links.pages import PAGES
from attnviz.ui import shell, state
from attnviz.ui.bert.language.look import in_and_out, path
from attnviz.ui.bert.language.results import Made, change_of, made_of, moved_by, setup_of
from attnviz.ui.bert.look import built_in, in_torch
from attnviz.ui.bert.rows import LIMITED, axis_labels, choose_row, chosen_row, colour_end, is_limited, last_of_text
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice, plot

if TYPE_CHECKING:
    from attnviz.bert.blocks import Setup
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.tokens import Tokens

X = {"tokens": "rows of E", "embeddings": "with positions, normalised"}
X_HELP = """*Rows of E*: of the embedding matrix, a vector for each id, and nothing else.

*With positions, normalised*: what BERT's own first layer reads. Its numbers are larger, so its weights differ more."""
ALIKE = 0.9
"""A mean cosine from which on rows are called alike"""
WIDER = 1.5
"""How much longer than its longest bar the axis of a narrow plot is, for the number beside it"""
MASKED = "With the mask, row i depends on rows 0 to i alone."
FREE = "Without a mask, every row depends on all others."
HIGHEST, HIGHEST_IN_LECTURE = 330, 300
"""px: of the plot of weights"""
LETTER, LETTER_IN_LECTURE = 13, 17
"""px: the height of a label"""
ROOM, ROOM_IN_LECTURE = 55, 75
"""px: of a small plot beneath another one, without what a plot of lines has above and below it"""
ROOM_IN_LESSON = 95
"""px: the bar of a lesson leaves less"""
TICKS = 4
"""The most numbers beside the small plot"""
CHANGED = "row %{text}<br>largest change of a logit: <b>%{y:,.4g}</b><extra></extra>"


def controls() -> None:
    """Show what shapes the model."""
    state.bound("lm_blocks", st.slider, "Blocks", 1, MAX_BLOCKS)
    if not state.get("lecture"):
        _mask()
    state.choice("lm_x", st.selectbox, "X", list(X), format_func=X.get, help=X_HELP)
    state.bound(
        "seed", st.number_input, "Seed", 0, 999_999, help="The linear layers are drawn from this number, as torch does."
    )


def _mask() -> None:
    state.bound("lm_mask", st.toggle, "Causal mask", help="Row i sees rows 0 to i only.")


def show() -> None:
    """Show the model on the text."""
    model, text = built_in(), shell.text()
    tokens = model.tokenize(text)
    shell.token_notes(tokens)
    state.adopt("q")
    if state.get("lecture"):
        _mask()  # a lecture has no sidebar
    setup = setup_of()
    made = made_of(model, tokens, setup)
    table = table_of(model)
    row = chosen_row(tokens, partial(last_of_text, tokens))
    out = made.guesses.tokens[:, 0].tolist()
    st.html(
        path(setup, len(tokens), *table.weight.shape)
        + in_and_out(tokens.labels, [table.labels[one] for one in out], row)
    )
    with st.container(key="language_said"):
        st.markdown(_junk(made, setup, len(table.pieces)))
    left, middle, right = st.columns([10, 8, 10], gap="small")
    with left:
        _show_attention(made, setup, tokens)
    with middle:
        _show_likely(made, tokens, table.labels)
    with right:
        _show_change(model, tokens, setup)
    notice(
        "No step has told this model what should follow a word. The path is complete; what is missing is training, and "
        "what a GPT adds to each block: weights for queries, keys and values, a feed-forward, residual sums, norms."
    )
    if not lesson_bar.is_open():
        _show_link()
    in_torch()


def _show_link() -> None:
    st.page_link(
        PAGES["train"].script, label="Train a language model: Train, part Text", icon=":material/arrow_forward:",
        icon_position="right", query_params={"train_part": "text"},
    )  # fmt: skip


def _junk(made: Made, setup: Setup, vocabulary: int) -> str:
    """Return what comes out, in words."""
    largest, first, last = float(made.guesses.probabilities.max()), made.stack.alike[0], made.stack.alike[-1]
    out = made.guesses.tokens[:, 0]
    layers = "linear layer is" if setup.blocks == 1 else f"{setup.blocks} linear layers are"
    said = (
        f"**Junk comes out, as it should:** the {layers} random (seed {setup.seed}), and nothing was trained. "
        f"The likeliest token has {100 * largest:.4f} %; if all {vocabulary:,} were equally likely, "
        f"each would have {100 / vocabulary:.4f} %."
    )
    if len(out) > 1 and last > max(ALIKE, first):
        different = len(set(out.tolist()))
        named = "the same token" if different == 1 else f"{different} different tokens"
        said += (
            f" Averaging makes rows alike: their mean cosine goes from {number(first)} to {number(last)}, and "
            f"{len(out)} rows name {named}."
        )
    return said


def _show_attention(made: Made, setup: Setup, tokens: Tokens) -> None:
    from attnviz.attention import causal_mask
    from attnviz.figures.multiples import one_matrix

    block = state.choice(
        "lm_block", st.segmented_control, "Weights of block", list(range(setup.blocks)), required=True,
    )  # fmt: skip
    weights = made.stack.weights[block]
    hidden = ~causal_mask(len(tokens)) if setup.causal else None
    highest, letter = (HIGHEST_IN_LECTURE, LETTER_IN_LECTURE) if state.get("lecture") else (HIGHEST, LETTER)
    figure = one_matrix(
        weights, axis_labels(tokens), palette(), limit=colour_end(weights), hidden=hidden,
        highest=highest, letter=letter,
    )  # fmt: skip
    plot(figure, "language_weights")
    if is_limited(tokens):
        st.caption(LIMITED)


def _show_likely(made: Made, tokens: Tokens, labels: tuple[str, ...]) -> None:
    from attnviz.figures.plots import bars

    row = choose_row(tokens, "Likeliest tokens of row", partial(last_of_text, tokens))
    names = [labels[one] for one in made.guesses.tokens[row].tolist()]
    percent = [100 * one for one in made.guesses.probabilities[row].tolist()]
    figure = bars({"probability": percent}, names, palette(), title="probability, %")
    figure["layout"]["xaxis"] |= {"range": [0, WIDER * percent[0]]}
    plot(figure, "language_likely")


def _show_change(model: BuiltInModel, tokens: Tokens, setup: Setup) -> None:
    """Show which rows change when the last word of the text is another."""
    from attnviz.figures.plots import lines

    default = KEYS["other"].default
    other = state.bound("other", st.text_input, "Change the last word into", max_chars=MAX_OTHER).strip() or default
    change = change_of(model, tokens, other)
    if change is None:
        st.info(f"“{plain(other)}” is not one token here. Type another word.")
        return
    last = plain(tokens.labels[change.place])
    if tokens.ids[change.place] == change.token:
        st.info(f"“{last}” is this token already, so nothing changes. Type another word.")
        return
    moved = moved_by(model, tokens, setup, change)
    before, after = moved[: change.place], moved[change.place :]
    rows = list(map(str, range(len(tokens))))
    figure = lines({"largest change of a logit": moved.tolist()}, rows, palette(), title="change", across="row")
    figure["data"][0] |= {"text": [escape(name) for name in axis_labels(tokens)], "hovertemplate": CHANGED}
    room = ROOM_IN_LESSON if lesson_bar.is_open() else ROOM_IN_LECTURE if state.get("lecture") else ROOM
    layout = figure["layout"]
    layout |= {"height": layout["height"] - room, "margin": {**layout["margin"], "t": 8}}
    layout["yaxis"]["nticks"] = TICKS
    most = nonzero(float(after.max()), 4)
    said = f"“{last}”, row {change.place}, becomes “{plain(other)}”. Rows from there on change by up to {most}"
    if len(before):
        said += f", those before it by at most **{nonzero(float(before.max()), 4)}**"
    said += "." if lesson_bar.is_open() else f". {MASKED if setup.causal else FREE}"
    with st.container(key="language_said_of_change"):
        st.markdown(said)
    plot(figure, "language_moved")
