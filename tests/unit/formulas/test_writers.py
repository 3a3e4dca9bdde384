"""Formulas: one tree, written as LaTeX, as MathML and as runs of text, which all say the same."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from attnviz.compare.formulas import FORMULAS as COMPARED
from attnviz.export.drawing.formula import set_formula
from attnviz.export.drawing.marks import Text
from attnviz.export.drawing.themes import THEMES
from attnviz.figures.style import LIGHT
from attnviz.formulas import Expression, latex, mathml, runs
from attnviz.formulas.tree import (
    Absolute,
    Box,
    Fraction,
    List,
    Logarithm,
    Negative,
    Power,
    Product,
    Root,
    Sum,
    Symbol,
    Total,
)
from attnviz.measures.summary import choose_measures
from attnviz.steps import ATTENTION, TOKENS
from attnviz.steps.averages import WAYS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from tests.unit.steps.test_attention import CONFIGS, walk_toy

CAUSAL = walk_toy(ToyConfig(causal=True))
TOKEN = TOKENS.formula(WordTokenizer().tokenize("a b"))
MEASURES = choose_measures(2, WordTokenizer().tokenize("a b"), same_text=True, causal=False)
FORMULAS: dict[str, Expression] = {
    "tokens": TOKEN,
    **{name: way.formula(CAUSAL) for name, way in WAYS.items()},
    **{f"{step}, {of}": ATTENTION[step].formula(walk_toy(CONFIGS[of])) for step in ATTENTION for of in CONFIGS},
    **COMPARED,
    **{measure.name: measure.formula for measure in MEASURES},
}
ARITY = {"msub": 2, "msup": 2, "mfrac": 2, "munder": 2, "munderover": 3, "math": 1, "msqrt": 1, "mstyle": 1}
"""How many elements these take, by MathML Core"""


def letters(text: str) -> Counter[str]:
    """Count what is left of a formula without its spaces, its commands and its brackets."""
    return Counter(re.sub(r"[\s(){}\[\]^_/\\·⋅\u2061\u2062]", "", text))


def read_latex(text: str) -> Counter[str]:
    """Count the letters and signs of a formula in LaTeX."""
    signs = {
        r"\top": "⊤", r"\le": "≤", r"\in": "∈", r"\rightarrow": "→", r"\sum": "∑", r"\sqrt": "√",
        r"\lvert": "|", r"\rvert": "|", r"\log": "log", r"\alpha": "α",
    }  # fmt: skip
    text = re.sub(r"\\color\{#\w+\}|\\[,;!]", "", text).replace("-", "−")
    return letters(re.sub(r"\\[A-Za-z]+", lambda command: signs.get(command[0], ""), text))


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_all_writers_write_the_same(formula: Expression) -> None:
    written = mathml(formula)
    found = letters("".join(ET.fromstring(written).itertext()))
    roots = written.count("<msqrt>")
    expected = read_latex(latex(formula, LIGHT.ink.of))
    assert found + Counter({"√": roots}) == expected
    drawn = "".join(run.text for run in runs(formula)).replace("ᵀ", "⊤").replace("Σ", "∑")
    assert letters(drawn) == expected


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_mathml_is_what_the_standard_takes(formula: Expression) -> None:
    root = ET.fromstring(mathml(formula))
    for element in root.iter():
        assert element.tag in {*ARITY, "mrow", "mi", "mn", "mo", "mtext", "mspace"}
        if element.tag in ARITY:
            assert len(element) == ARITY[element.tag]
        elif element.tag != "mrow":
            assert len(element) == 0


def test_latex_is_as_pages_show_it() -> None:
    written = latex(ATTENTION["weights"].formula(CAUSAL), LIGHT.ink.of)
    assert written == (
        r"\operatorname{output} = \operatorname{concat}_h\left[\boxed{\operatorname{softmax}\left("
        r"{\color{#0072B2}Q}\,{\color{#D55E00}K}^{\top} \cdot s + M\right)}\,{\color{#009E73}V}\right]\,W_O"
    )
    assert {measure.name: latex(measure.formula, str) for measure in MEASURES} == {
        "entropy": r"-\sum_j \alpha_{ij} \log_2 \alpha_{ij}",
        "distance": r"\sum_j \alpha_{ij}\,\lvert i-j \rvert",
        "previous": r"\alpha_{i,i-1}",
        "next": r"\alpha_{i,i+1}",
        "same": r"\alpha_{i,i}",
        "first": r"\sum_{j \in S} \alpha_{ij}",
    }
    loop = WAYS["loop"].formula(CAUSAL)
    assert latex(loop, LIGHT.ink.of) == r"y_i = \frac{1}{i+1} \sum_{j=0}^{i} x_j"


def test_roles_have_their_colours_and_the_box_its_term() -> None:
    formula = ATTENTION["scores"].formula(CAUSAL)
    classes = [element.get("class") for element in ET.fromstring(mathml(formula)).iter() if element.get("class")]
    assert classes == ["boxed", "query", "key", "value"]
    written = runs(formula)
    assert [(run.text, run.role) for run in written if run.role] == [("Q", "query"), ("K", "key"), ("V", "value")]
    assert "".join(run.text for run in written if run.boxed) == "Q\N{THIN SPACE}Kᵀ"


@pytest.mark.parametrize("theme", THEMES)
def test_a_drawn_formula_keeps_to_its_room_and_its_theme(theme: str) -> None:
    formula = ATTENTION["output"].formula(CAUSAL)
    ink = THEMES[theme].palette.text_ink
    for room in (900, 200):
        texts = [
            m for m in set_formula(formula, x=0, y=0, size=24, theme=THEMES[theme], room=room) if isinstance(m, Text)
        ]
        assert max(text.x for text in texts) < room
        assert {text.colour for text in texts} == {ink.query, ink.key, ink.value, THEMES[theme].text}


def test_what_stands_on_one_line_has_its_brackets() -> None:
    sum_ = Sum((Symbol("i"), Symbol("1")))
    assert "".join(run.text for run in runs(Fraction(Symbol("1"), sum_))) == "1/(i + 1)"
    assert "".join(run.text for run in runs(Root(Box(Symbol("D"))))) == "√D"
    assert latex(Root(sum_), str) == r"\sqrt{i + 1}"
    quotient = Fraction(Symbol("i"), Symbol("1"))
    assert "".join(run.text for run in runs(Logarithm(Symbol("2"), quotient))) == "log2\N{THIN SPACE}(i/1)"
    i, j, both = Symbol("i"), Symbol("j"), Sum((Symbol("i"), Negative(Symbol("j"))))
    for formula, line, typeset in (
        (Product((j, both), "none"), "j(i − j)", "j (i - j)"),
        (Negative(both), "−(i − j)", "-(i - j)"),
        (Sum((j, Negative(both))), "j − (i − j)", "j - (i - j)"),
        (Sum((Negative(i), Power(j, i))), "−i + ji", "-i + j^i"),
        (Product((i, Negative(j)), "none"), "i(−j)", "i (-j)"),
        (Total(i, None, both), "Σi(i − j)", r"\sum_i (i - j)"),
        (Absolute(both), "|i − j|", r"\lvert i-j \rvert"),
        (List((i, both)), "i, i − j", "i, i - j"),
    ):
        assert ("".join(run.text for run in runs(formula)), latex(formula, str)) == (line, typeset)
        on_a_line = "".join(ET.fromstring(mathml(formula)).itertext()).replace("\N{INVISIBLE TIMES}", "")
        assert on_a_line == line.replace(" ", "").replace("Σ", "∑")
    assert latex(Product((Symbol("i"), Symbol("j")), "none"), str, tight=True) == "ij"
