"""A mistake as HTML: its pictures hold the numbers, its table writes them, and nothing of a text is markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import torch

from attnviz.export.drawing.marks import THEMES
from attnviz.export.web.mistake import body, draw, found_in, html, written
from attnviz.links.link import KEYS
from attnviz.measures.mistakes import TEXTS
from attnviz.measures.mistakes.computed import Effect
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.trace import Trace

VIEW = {name: key.default for name, key in KEYS.items()}
HOSTILE = "<script>alert(1)</script> & <b> 'x' \"y\""


def trace(text: str = "the cat saw the dog run") -> Trace:
    return trace_transformer(WordTokenizer().tokenize(text), None, TransformerConfig())


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [name for name in TEXTS if name != "cross"])
def test_pictures_have_the_numbers_and_the_colours_of_both_sides_end_at_the_same(name: str, theme: str) -> None:
    found = found_in({**VIEW, "mistake": name}, trace())
    ends = []
    for side in ("wrong", "right"):
        svg, alt = draw(found, side, THEMES[theme])
        values = getattr(found, side).values
        rows, columns = values.shape
        assert f'data-rows="{rows}" data-cols="{columns}"' in svg.decode()
        assert re.search(rf", {rows} rows?: .*, {columns} columns?: ", alt)
        ends.append(
            re.findall(r"<rect [^>]*url\(#bar\d*\)[^>]*/>\s*(?:<rect[^>]*/>\s*)*<text [^>]*>([^<]*)", svg.decode())
        )
        if max(values.shape) <= 16:
            numbers = re.findall(r'<text x="[^"]*" y="[^"]*" fill="[^"]*">([^<]*)</text>', svg.decode())
            shown = np.array([float(one.replace("−", "-")) for one in numbers])
            finite = values[~values.isnan()].flatten().numpy()
            np.testing.assert_allclose(shown, finite, atol=0.0051)
    assert ends[0] == ends[1] != []


def test_the_seed_draws_only_where_the_toy_has_one() -> None:
    one, other = (found_in({**VIEW, "mistake": "same", "seed": seed}, trace()).wrong.values for seed in (1, 2))
    assert not np.array_equal(one, other)
    real = [
        found_in({**VIEW, "mistake": "same", "seed": seed, "source": "pretrained"}, trace()).wrong.values
        for seed in (1, 2)
    ]
    assert np.array_equal(*real)


def test_what_is_to_be_guessed_is_hidden_and_a_brief_one_has_three_lines() -> None:
    view = {**VIEW, "mistake": "fill"}
    found = found_in(view, trace())
    hidden = body(TEXTS["fill"], found, str, answer=False)
    assert hidden.count('class="mistake-answer" hidden') == 3
    assert 'class="mistake-answer" hidden' not in body(TEXTS["fill"], found, str)
    brief = body(TEXTS["fill"], found, str, brief=True)
    assert brief.count("<tr>") == 4
    assert TEXTS["fill"].notice not in unescape(brief)
    assert TEXTS["fill"].notice in unescape(body(TEXTS["fill"], found, str))


def test_a_text_is_never_markup() -> None:
    made = html({**VIEW, "mistake": "norm"}, trace(HOSTILE), THEMES["light"], answer=True, brief=False)
    assert "<script" not in made
    svg, _ = draw(found_in({**VIEW, "mistake": "norm"}, trace(HOSTILE)), "wrong", THEMES["light"])
    assert b"<script" not in svg
    assert b"&lt;script" in svg


def test_no_code_name_or_note_is_markup() -> None:
    found = found_in({**VIEW, "mistake": "norm"}, trace())
    odd = replace(found, effects=(Effect("<i>1", "<i>2", "<i>3"),), note="<i>4", where="<i>5")
    texts = replace(TEXTS["norm"], says="<i>6", wrong="<i>7", right="<i>8", notice="<i>9")
    made = body(texts, odd, str)
    assert "<i>" not in made
    assert all(f"&lt;i&gt;{number}" in made for number in range(1, 10))


@pytest.mark.parametrize("larger", ["wrong", "right"])
def test_the_colours_of_both_sides_end_at_the_largest_number_of_either(larger: str) -> None:
    found = found_in({**VIEW, "mistake": "norm"}, trace("a b"))
    picture = getattr(found, larger)
    odd = replace(found, signed=True, **{larger: replace(picture, values=torch.full_like(picture.values, -87.5))})
    for side in ("wrong", "right"):
        svg, _ = draw(odd, side, THEMES["light"])
        assert {"87.5", "−87.5"} <= set(re.findall(r">(−?[0-9.]+)</text>", svg.decode()))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (999999.5, "999999.500"), (1e6, "1.00e6"), (-1e6, "−1.00e6"),
        (0.0, "0"), (-0.0, "0"), (3, "3"), (12288, "12,288"), (0.46887, "0.469"), (-1.5, "−1.500"), ("yes", "yes"),
        (4.8e-7, "≈ 0"), (-9.9e-7, "≈ 0"), (1e-6, "1.00e−6"), (-2.5e9, "−2.50e9"),
        (1.0000001, "1.000"), (0.0004999, "5.00e−4"),
    ],
)  # fmt: skip
def test_numbers_are_written_so_that_none_reads_as_nothing(value: float | str, expected: str) -> None:
    assert written(value) == expected
