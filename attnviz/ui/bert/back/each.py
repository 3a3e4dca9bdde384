"""What comes back of each token: its likeliest candidates, and its margin."""

from __future__ import annotations

from dataclasses import replace

import torch

from attnviz.bert.round_trip import LOST
from attnviz.pretrained import BUILT_IN
from attnviz.ui.bert.back.chosen import Chosen
from attnviz.ui.bert.back.look import named, percent, value
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.widgets import notice

SOFTMAX = (
    "Why a softmax, if only the largest logit counts? The maximum has no gradient: a slightly larger logit changes "
    "nothing, or jumps. The softmax is a maximum that has one, so training can raise the right token."
)

ZEROS = "its row of the table is all zeros, so its logits are all 0"
SAME = "two rows of the same direction can't be told apart"


def show(found: Chosen) -> None:
    """Show the candidates of all tokens."""
    notice(_notice(found))
    show_html(_table(found))


def _table(found: Chosen) -> str:
    """Return the tokens with their candidates as a table."""
    back, labels = found.back(), found.table.labels
    probabilities = back.probabilities.tolist()
    largest = max(max(row) for row in probabilities) or 1.0
    count = len(probabilities[0])
    head = "".join(f"<th>{place}.</th>" for place in range(2, count + 1))
    rows = []
    for place, (label, id_, returns, margin) in enumerate(
        zip(found.tokens.labels, back.ids, back.returns.tolist(), back.margin.tolist(), strict=True)
    ):
        cells = "".join(
            f'<td class="tint" style="--part:{share / largest:.3f}">{named(labels[token])} '
            f'<span class="p">{percent(share)}</span></td>'
            for token, share in zip(back.tokens[place].tolist(), probabilities[place], strict=True)
        )
        mark = '<td class="yes" aria-label="yes">✓</td>' if returns else '<td class="no" aria-label="no">✗</td>'
        rows.append(
            f'<tr><td class="n">{place}</td><td>{named(label)}</td><td class="n">{id_:,}</td>{mark}'
            f'<td class="n">{value(margin)}</td>{cells}</tr>'
        )
    return (
        '<div class="back-rows" tabindex="0" role="region" aria-label="Candidates of each token"><table>'
        '<thead><tr><th class="n">T</th><th>token</th><th class="n">id</th><th>back</th><th class="n">margin</th>'
        f"<th>likeliest</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<div class="p">back: whether the token comes back · margin: the largest logit less the second · colour: '
        f"probability, from 0 to {percent(largest)}</div>"
    )


def _notice(found: Chosen) -> str:
    vocabulary = len(found.table.weight)
    if found.is_random:
        return (
            f"Junk, as it should be: the output layer was drawn by itself (seed {found.seed}), so none of its "
            f"{vocabulary:,} rows belongs to the embedding of any token, and a token comes back with a chance of 1 in "
            f"{vocabulary:,}. {SOFTMAX}"
        )
    if found.is_unit:
        return f"{_cosines(found)} {_sharpness(found)}"
    lost = (~found.back().returns).nonzero().flatten().tolist()
    if lost:
        return _lost(found, lost[0])
    some = " Not all would: try “conversions”, “asteroids” or [MASK]." if found.model.name == BUILT_IN else ""
    return (
        "The output layer is the table itself: an embedding is compared with every row, and has the largest product "
        f"with its own.{some} {_sharpness(found)}"
    )


def _cosines(found: Chosen) -> str:
    """Say what comes back with rows of length 1: all, unless another row has a token's direction."""
    back = found.back()
    lost = (~back.returns).nonzero().flatten().tolist()
    if not lost:
        return "Logits are cosines: 1 for a token with itself, less with all others. So every token comes back."
    label = found.table.labels[back.ids[lost[0]]]
    why = f"“{label}” does not come back: {ZEROS}" if _is_zero(found, lost[0]) else SAME
    return f"Logits are cosines: 1 for a token with itself, and not more with any other. But {why}."


def _sharpness(found: Chosen) -> str:
    """Say how near the softmax is to a maximum."""
    if found.scale == 1:
        return (
            f"The probabilities are small, because {len(found.table.weight):,} similar logits share a total "
            "probability of 1: with logits times 10 or 100, the softmax is nearer to the maximum."
        )
    return (
        f"Logits times {found.scale:g} have the same order, so the same ids come back; but the softmax is nearer "
        "to the maximum."
    )


def _lost(found: Chosen, place: int) -> str:
    """Say truly why a token does not come back: only a longer row, or an equal one, can have as large a product."""
    back, table, is_built_in = found.back(), found.table, found.model.name == BUILT_IN
    label = table.labels[back.ids[place]]
    if _is_zero(found, place):
        return f"“{label}” does not come back: {ZEROS}. Nor does it with rows of length 1."
    other = int(back.tokens[place, 0])
    own, longer = (value(torch.linalg.vector_norm(table.weight[token]).item()) for token in (back.ids[place], other))
    length = "of nearly the same length" if own == longer else f"longer ({longer} instead of {own})"
    count = f" Of all {len(table.weight):,} tokens {LOST} do not." if is_built_in else ""
    is_found = is_built_in or bool(replace(found, is_unit=True).back().returns[place])
    unit = "With rows of length 1 it comes back" if is_found else f"Nor does it with rows of length 1: {SAME}"
    return (
        f"“{label}” does not come back. Its logit is {value(back.own[place].item())}, that of "
        f"“{table.labels[other]}” {value(back.logits[place, 0].item())}: a row of nearly the same direction, and "
        f"{length}.{count} {unit}."
    )


def _is_zero(found: Chosen, place: int) -> bool:
    """Whether the embedding of a token is 0, as that of padding is in some models."""
    return not found.table.weight[found.back().ids[place]].any()
