"""What the targets decide: the same body and output layer, trained to give other texts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from attnviz.ui.bert.back.chosen import Chosen
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.widgets import notice

WORDS = 8
"""The most tokens of the text in an example"""
SOURCE = "The animal didn't cross the street."
TRANSLATED = "Das Tier überquerte die Straße nicht."


def show(found: Chosen) -> None:
    """Show the table of targets."""
    rows = "".join(
        f'<tr><td><b>{title}</b></td><td dir="auto">{escape(given)}</td><td dir="auto">{escape(target)}</td>'
        f"<td>{becomes}</td></tr>"
        for title, given, target, becomes in targets(found)
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


def targets(found: Chosen) -> Iterator[tuple[str, str, str, str]]:
    """Yield what each kind of targets is: its name, an input, a target, and what the model becomes."""
    tokens = found.tokens
    ids = [id_ for id_, special in zip(tokens.ids, tokens.special, strict=True) if not special][:WORDS]
    decode, middle = found.table.decode, len(ids) // 2
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
        "translation", SOURCE, TRANSLATED,
        "A translator: a decoder writes the other language and looks at the encoded sentence.",
    )  # fmt: skip
