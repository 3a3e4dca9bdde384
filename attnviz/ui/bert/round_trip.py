"""Embeddings and back: a text to embeddings, and through an output layer to a text again, and a closer look at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Literal

import streamlit as st
import torch
from torch import Tensor

from attnviz.bert.table import search
from attnviz.export.code.bert.embeddings import RoundTrip, round_trip_lines, round_trip_script
from attnviz.formatting import nonzero, percent
from attnviz.links.bert import MAX_PIECE
from attnviz.tokens import NoTokensError, Tokens
from attnviz.ui import shell, state
from attnviz.ui.bert.parts import Part, choose_model, chosen_model, in_torch, shown_model, text_notes
from attnviz.ui.bert.token_tables import (
    RoundTripSetup,
    chosen_place,
    label_in,
    named,
    setup_of,
    show_favoured,
    show_html,
    show_tokens,
    value,
)
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    import pandas as pd

WEIGHTS_HELP = """*The model's own*: the table of token embeddings, and the same numbers as the output layer's weight.
The two are tied.

*Random*: both are drawn from the seed, each by itself."""
UNIT_HELP = "Each row is divided by its length, so that logits are cosines."
SCALE_HELP = "Softmax of the logits times this number: the larger it is, the nearer to the maximum."
AUTOENCODER = (
    "Like an autoencoder, it turns a text into vectors and vectors into a text. Unlike one, these two ends alone were "
    "never trained to copy, and no bottleneck learned a short code: each token has its own {width:,} numbers."
)
FIRST = 5
"""Products that are written out for a logit"""
BUTTONS = 40
"""Maximum tokens that get a button each"""
WORDS = 8
"""Maximum tokens of the text in an example"""
SOURCE_SENTENCE = "The animal didn't cross the street."
TRANSLATED = "Das Tier überquerte die Straße nicht."


def show() -> None:
    """Show the part."""
    model = chosen_model()
    setup = setup_of(model)
    if setup is None:
        no_text = f"Type a sentence {shell.text_place()} to see what comes back of it."
        st.info(str(NoTokensError()) if state.get("text").strip() else no_text)
        return
    text_notes(model, setup.tokens)
    if not lesson_bar.hides("back_weights"):
        _settings()
    setup = setup_of(model) or setup  # with the values that these widgets have now
    show_html(_there_and_back(setup))
    if not lesson_bar.hides("back_view"):
        state.choice("back_view", st.segmented_control, "A closer look", required=True, label_visibility="collapsed")
    VIEWS[state.get("back_view")](setup)
    in_torch(round_trip_lines(RoundTrip(setup.is_random, setup.is_unit, setup.seed, setup.scale)))


def _settings() -> None:
    """Show the settings of the embedding table and the output layer."""
    with st.container(horizontal=True, key="back_settings", vertical_alignment="bottom"):
        state.choice(
            "back_weights", st.segmented_control, "Embedding table and output layer", required=True, help=WEIGHTS_HELP
        )
        state.choice("back_scale", st.segmented_control, "Logits times", required=True, help=SCALE_HELP)
        if state.get("back_weights") == "random":
            state.bound("seed", st.number_input, "Seed", 0, 999_999, width=130)
        else:
            state.bound("back_unit", st.toggle, "Rows of length 1", help=UNIT_HELP)


def _there_and_back(setup: RoundTripSetup) -> str:
    """Return the steps there and back with their shapes, and both texts, as HTML."""
    back, tokens = setup.round_trip(), setup.tokens
    count, (vocabulary, width) = len(tokens), setup.table.weight.shape
    returned = int(back.returns.sum())
    scale = "" if setup.scale == 1 else f"× {setup.scale:g}, "
    steps = (
        ("text", ""), (f"{count:,} ids", ""), (f"embeddings ({count:,}, {width:,})", "table"),
        (f"logits ({count:,}, {vocabulary:,})", "output layer"), ("probabilities", f"{scale}softmax"),
        (f"{count:,} ids", "maximum"), ("text", ""),
    )  # fmt: skip
    flow = "".join(f'<li data-by="{by}"><b>{name}</b></li>' for name, by in steps)
    kind = "yes" if returned == count else "no"
    is_changed = returned == count and setup.table.decode(tokens.ids) != tokens.text  # although all ids came back
    why = "<small>What else differs, such as capitals, the tokenizer changes.</small>" if is_changed else ""
    return (
        f'<p class="about">{AUTOENCODER.format(width=width)}</p><ol class="flow">{flow}</ol>'
        f'<div class="texts" data-item="texts"><span>typed</span><p dir="auto">{escape(tokens.text)}</p>'
        f'<span>came back</span><p dir="auto" class="out">{escape(setup.table.decode(back.likeliest))}</p>'
        f'<div><b class="{kind}">{returned:,} of {count:,} ids come back</b>{why}</div></div>'
    )


def choose_token(tokens: Tokens) -> int:
    """Let the user choose a token of the text, and return its position."""
    state.keep_token("q", "Token", tokens.labels, "the text has tokens", partial(chosen_place, tokens))
    has_buttons = len(tokens) <= BUTTONS
    labels = (
        _told_apart(tokens.labels) if has_buttons else [f"{at} · {label}" for at, label in enumerate(tokens.labels)]
    )
    state.choice(
        "q", st.pills if has_buttons else st.selectbox, "Token", list(range(len(tokens))),
        format_func=labels.__getitem__, label_visibility="collapsed", on_change=partial(state.put, "back_piece", ""),
        **({"required": True} if has_buttons else {}),
    )  # fmt: skip
    return chosen_place(tokens)


def _told_apart(labels: Sequence[str]) -> list[str]:
    """Escape labels for Markdown, and add the position to those that occur more than once.

    Buttons with the same label would be one button.
    """
    escaped = list(map(plain, labels))
    return [f"{label} ({at})" if escaped.count(label) > 1 else label for at, label in enumerate(escaped)]


def show_written_out(setup: RoundTripSetup) -> None:
    """Write out the arithmetic of one token."""
    place = choose_token(setup.tokens)
    show_html(_written(setup, place))
    notice(
        f"The softmax divides by a sum over all {len(setup.table.weight):,} tokens, so each probability depends on "
        "every logit. The largest logit is subtracted first: that changes no probability, and no exponential becomes "
        "too large."
    )


def _written(setup: RoundTripSetup, place: int) -> str:
    """Return the arithmetic of a token's candidates, as HTML."""
    back, labels = setup.round_trip(), setup.table.labels
    tokens, logits = back.tokens[place].tolist(), back.logits[place].tolist()
    operands, width = setup.operands(back.ids[place], tuple(tokens)), setup.table.weight.shape[1]
    label, best = named(setup.tokens.labels[place]), named(labels[tokens[0]])
    total, scale = back.sums[place].item(), "" if setup.scale == 1 else f"{setup.scale:g} · "
    x, row = operands.x[:FIRST].tolist(), operands.rows[0][:FIRST].tolist()
    listed = [", ".join(map(value, numbers)) for numbers in (x, row)]
    products = " + ".join(_product(a, b) for a, b in zip(x, row, strict=True))
    rows = "".join(
        f'<tr><td>{named(labels[token])}</td><td class="n">{value(logit)}</td>'
        f'<td class="n">{value(setup.scale * (logit - logits[0]))}</td>'
        f'<td class="n">{nonzero(math.exp(setup.scale * (logit - logits[0])), 4)}</td>'
        f'<td class="n">{percent(share, 4)}</td></tr>'
        for token, logit, share in zip(tokens, logits, back.probabilities[place].tolist(), strict=True)
    )
    row_of = "its own row" if tokens[0] == back.ids[place] else f"the row of “{best}”"
    return (
        f'<p class="written">x, the embedding of “{label}”, id {back.ids[place]:,}: ({listed[0]}, …), {width:,} '
        f'numbers</p><p class="written">w, {row_of} of the output layer: ({listed[1]}, …)</p>'
        f'<p class="written"><b>logit</b> = x · w = {products} + … = <b class="logit">{value(logits[0])}</b></p>'
        '<div class="back-wide"><table><thead><tr><th>candidate</th><th class="n">logit</th>'
        f'<th class="n">z = {scale}{"(" if scale else ""}logit − {_operand(logits[0])}{")" if scale else ""}</th>'
        f'<th class="n">exp(z)</th><th class="n">exp(z) / sum</th></tr></thead><tbody>{rows}</tbody></table>'
        f'</div><p class="written">sum of exp(z) over all {len(labels):,} tokens = <b class="sum">{total:,.3f}</b>, so '
        f"the probability of “{best}” is 1 / {total:,.3f} = "
        f'<b class="probability">{percent(1 / total, 4)}</b></p>'
    )


def _product(a: float, b: float) -> str:
    return " · ".join(map(_operand, (a, b)))


def _operand(x: float) -> str:
    """Format a number to stand in a sum or product: a negative one in brackets."""
    return value(x) if x >= 0 else f"({value(x)})"


def show_neighbours(setup: RoundTripSetup) -> None:
    """Show the neighbours of the chosen token, or of the piece that is searched for."""
    place = choose_token(setup.tokens)
    searched: str = state.bound(
        "back_piece", st.text_input, "Or search the vocabulary", max_chars=MAX_PIECE,
        placeholder="Or search the vocabulary: a word or a piece, such as king or ##ing", label_visibility="collapsed",
    )  # fmt: skip
    token = token_of(setup, place)
    if token is None:
        st.info(plain(unknown_piece(setup, searched)))
        return
    near, label = setup.nearest(token), setup.table.labels[token]
    left, right = st.columns(2)
    with left:
        show_html(_neighbours_html(setup, token, near.by_cosine, near.cosines, "cosine"))
    with right:
        show_html(_neighbours_html(setup, token, near.by_product, near.products, "dot product"))
    notice(_neighbours_notice(setup, label))


def token_of(setup: RoundTripSetup, place: int) -> int | None:
    """Return the id whose neighbours are shown: the searched piece's, or the text's token's; None if it is unknown."""
    searched = (state.get("back_piece") or "").strip()
    return search(setup.model, searched).token if searched else setup.tokens.ids[place]


def unknown_piece(setup: RoundTripSetup, searched: str) -> str:
    """Say how the tokenizer splits a text that is not in the vocabulary, and which entries contain it."""
    pieces = search(setup.model, searched).pieces
    written = f"The tokenizer writes it as {' '.join(pieces)}. " if pieces else ""
    containing = setup.table.containing(searched.strip())
    others = f"Entries that contain it: {', '.join(containing)}." if containing else "No entry contains it."
    return f"“{searched.strip()}” is not in the vocabulary of {len(setup.table.weight):,} tokens. {written}{others}"


def _neighbours_html(setup: RoundTripSetup, token: int, ids: Tensor, values: Tensor, title: str) -> str:
    """Return neighbours with their similarities as a table."""
    largest = max(values.abs().max().item(), 1e-9)
    rows = "".join(
        f'<tr class="{"chosen" if other == token else ""}"><td class="n">{rank}</td>'
        f'<td class="tint" style="--part:{max(near, 0) / largest:.3f}">{named(setup.table.labels[other])}</td>'
        f'<td class="n">{value(near)}</td></tr>'
        for rank, (other, near) in enumerate(zip(ids.tolist(), values.tolist(), strict=True), start=1)
    )
    label = named(setup.table.labels[token])
    return (
        f'<table data-by="{title}"><thead><tr><th class="n">#</th><th>nearest to “{label}”</th>'
        f'<th class="n">{title}</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _neighbours_notice(setup: RoundTripSetup, label: str) -> str:
    if setup.is_random:
        return (
            f"Rows that were drawn (seed {setup.seed}) have no neighbours that mean anything: their cosines are near "
            "0. That related words have similar rows is learned."
        )
    same = " Rows of length 1 have the same order by both." if setup.is_unit else ""
    return (
        f"What is near “{label}” was learned from texts alone: words that occur in the same places get similar rows. A "
        f"dot product is also larger where a row is longer; a cosine leaves lengths out.{same}"
    )


def show_targets(setup: RoundTripSetup) -> None:
    """Show the table of targets."""
    rows = "".join(
        f'<tr><td><b>{title}</b></td><td dir="auto">{escape(source)}</td><td dir="auto">{escape(target)}</td>'
        f"<td>{becomes}</td></tr>"
        for title, source, target, becomes in targets(setup)
    )
    show_html(
        '<table class="wide"><thead><tr><th>Targets</th><th>Input</th><th>Target</th><th>What it becomes</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )
    notice(
        "Nothing in the layers says what a model is for. Embeddings, body, output layer and softmax are the same in "
        "each row; the loss, −log of the probability of the target, makes another model of them. The page Train does "
        "it with the next character."
    )


def targets(setup: RoundTripSetup) -> Iterator[tuple[str, str, str, str]]:
    """Yield the kinds of targets: name, an input, a target, and what the model becomes."""
    tokens = setup.tokens
    ids = [id_ for id_, special in zip(tokens.ids, tokens.special, strict=True) if not special][:WORDS]
    decode, middle = setup.table.decode, len(ids) // 2
    whole = decode(ids)
    yield "the same text", whole, whole, "A copy: what both ends do here with no body between them."
    yield (
        "next text", decode(ids[:-1]) or "…", decode(ids[1:]) or "…",
        "A language model (GPT): at each place it names the next token, so it can go on writing.",
    )  # fmt: skip
    masked = " ".join(filter(None, (decode(ids[:middle]), "[MASK]", decode(ids[middle + 1 :]))))
    yield (
        "masked text", masked, decode(ids[middle : middle + 1]),
        "BERT: it reads both sides of a gap, so its vectors say what a token means there.",
    )  # fmt: skip
    yield (
        "summary", "an article of 800 words", "three sentences that a person wrote of it",
        "A model that summarises: it writes the summary token by token, as next text after the article.",
    )  # fmt: skip
    yield (
        "translation", SOURCE_SENTENCE, TRANSLATED,
        "A translator: a decoder writes the other language and looks at the encoded sentence.",
    )  # fmt: skip


def tables() -> dict[str, pd.DataFrame]:
    """Return the candidates of each token, what the output layer favours, and the neighbours of the chosen token."""
    setup = setup_of(shown_model())
    if setup is None:
        return {}
    tables_ = {"there_and_back": _candidates_table(setup), "output_layer": _favoured_table(setup)}
    token = token_of(setup, chosen_place(setup.tokens))
    return tables_ if token is None else tables_ | {"neighbours": _neighbours_table(setup, token)}


def _candidates_table(setup: RoundTripSetup) -> pd.DataFrame:
    import pandas as pd

    back, labels = setup.round_trip(), setup.table.labels
    table = pd.DataFrame(
        {
            "token": setup.tokens.labels, "id": back.ids, "comes back": back.returns.tolist(),
            "own logit": back.input_logits.tolist(), "margin": back.margin.tolist(),
        }
    )  # fmt: skip
    for place in range(back.tokens.shape[1]):
        rank = place + 1
        table[f"candidate {rank}"] = [labels[token] for token in back.tokens[:, place].tolist()]
        table[f"logit {rank}"] = back.logits[:, place].tolist()
        table[f"probability {rank}"] = back.probabilities[:, place].tolist()
    return table.rename_axis("position")


def _neighbours_table(setup: RoundTripSetup, token: int) -> pd.DataFrame:
    import pandas as pd

    near, labels = setup.nearest(token), setup.table.labels
    columns = {
        "by cosine": [labels[other] for other in near.by_cosine.tolist()], "cosine": near.cosines.tolist(),
        "by dot product": [labels[other] for other in near.by_product.tolist()], "dot product": near.products.tolist(),
    }  # fmt: skip
    return pd.DataFrame(columns, index=pd.RangeIndex(1, len(near.cosines) + 1, name=f"nearest to {labels[token]}"))


def _favoured_table(setup: RoundTripSetup) -> pd.DataFrame:
    import pandas as pd

    favoured = setup.favoured()
    tokens, numbers = torch.cat([favoured.most, favoured.least]), torch.cat([favoured.largest, favoured.smallest])
    columns = {
        "token": [label_in(setup, token) for token in tokens.tolist()], "id": tokens.tolist(),
        favoured.by: numbers.tolist(),
    }  # fmt: skip
    if favoured.by == "bias":
        columns["softmax of the bias"] = favoured.probabilities(numbers).tolist()
    count = len(favoured.most)
    ends = [f"{end} {rank}" for end in ("largest", "smallest") for rank in range(1, count + 1)]
    return pd.DataFrame(columns, index=pd.Index(ends, name="rank"))


def script() -> str:
    """Return the script that prints the numbers on screen; "" if there is no text."""
    setup = setup_of(shown_model())
    if setup is None:
        return ""
    place = chosen_place(setup.tokens)
    token = token_of(setup, place)
    kind: Literal["MaskedLM", "CausalLM"] = "CausalLM" if "decoder" in setup.model.description.layers else "MaskedLM"
    return round_trip_script(
        RoundTrip(
            setup.is_random, setup.is_unit, setup.seed, setup.scale, None if setup.bias is None else kind,
            setup.model.loader,
        ),
        model=setup.model.name.strip(), text=setup.tokens.text, ids=setup.tokens.ids, limit=setup.model.max_tokens,
        place=place, token=setup.tokens.ids[place] if token is None else token, shown=setup.round_trip().likeliest,
    )  # fmt: skip


VIEWS: dict[str, Callable[[RoundTripSetup], None]] = {
    "each": show_tokens,
    "one": show_written_out,
    "near": show_neighbours,
    "bias": show_favoured,
    "targets": show_targets,
}
"""Keyed by name in links"""

PART = Part(show, tables, script, controls=choose_model)
