"""Formulas: one tree, written as LaTeX, as MathML and as runs of text, which all say the same."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import pytest
import torch

from attnviz.compare.explain import FORMULAS as COMPARED
from attnviz.export.drawing.lines import set_formula
from attnviz.export.drawing.marks import THEMES, Text
from attnviz.figures.style import LIGHT
from attnviz.formulas import Expression, latex, mathml, runs
from attnviz.formulas.tree import (
    Absolute,
    Box,
    Call,
    Fraction,
    Indexed,
    List,
    Logarithm,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Root,
    Row,
    Sum,
    Symbol,
    Total,
    Transpose,
)
from attnviz.formulas.tree import Text as Words
from attnviz.measures.summary import choose_measures
from attnviz.steps import ATTENTION, TOKENS, WALK
from attnviz.steps.averages import WAYS
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig
from attnviz.trace.position_bias import PositionBias, PositionTerms
from attnviz.trace.walk import Walk
from tests.unit.steps.test_attention import CONFIGS, walk_toy

CAUSAL = walk_toy(ToyConfig(causal=True))
TOKEN = TOKENS.formula(WordTokenizer().tokenize("a b"))
MEASURES = choose_measures(2, WordTokenizer().tokenize("a b"), same_text=True, causal=False)


def with_terms(*tables: str) -> Walk:
    """Return a walk whose position bias has DeBERTa's terms, from these tables."""
    layer, relative = CAUSAL.layer, torch.arange(5)[:, None] - torch.arange(5)
    rows = dict.fromkeys(tables, torch.ones(layer.heads, 9, layer.head_size))
    terms = PositionTerms(layer.query, layer.key, layer.scale, relative, -4, **rows)
    return replace(CAUSAL, layer=replace(layer, position_bias=PositionBias(None, terms=terms)))


@pytest.mark.parametrize(
    ("tables", "products"),
    [
        (("position_key",), "the query of a cell times the key of δ"),
        (("position_query",), "the key of a cell times the query of δ"),
    ],
)
def test_the_letter_of_a_distance_in_the_formula_is_explained(tables: tuple[str, ...], products: str) -> None:
    notice = WALK["biased"].notice(with_terms(*tables))
    assert f"with the same scale: {products}. δ is the position of the cell’s query minus that of its key;" in notice


FORMULAS: dict[str, Expression] = {
    "tokens": TOKEN,
    **{name: way.formula(CAUSAL) for name, way in WAYS.items()},
    **{f"{step}, {of}": ATTENTION[step].formula(walk_toy(CONFIGS[of])) for step in ATTENTION for of in CONFIGS},
    "rotated": WALK["rotated"].formula(walk_toy(CONFIGS["rotary"])),
    "both terms": WALK["biased"].formula(with_terms("position_key", "position_query")),
    "one term": WALK["biased"].formula(with_terms("position_query")),
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
        r"\lvert": "|", r"\rvert": "|", r"\log": "log", r"\alpha": "α", r"\theta": "θ",
        r"\delta": "δ",
    }  # fmt: skip
    text = re.sub(r"\\color\{#\w+\}|\\[,;!]", "", text).replace("-", "−")
    return letters(re.sub(r"\\[A-Za-z]+", lambda command: signs.get(command[0], ""), text))


def test_all_writers_write_the_same() -> None:
    for name, formula in FORMULAS.items():
        written = mathml(formula)
        found = letters("".join(ET.fromstring(written).itertext()))
        roots = written.count("<msqrt>")
        expected = read_latex(latex(formula, LIGHT.ink.of))
        assert found + Counter({"√": roots}) == expected, name
        drawn = "".join(run.text for run in runs(formula)).replace("ᵀ", "⊤").replace("Σ", "∑")
        assert letters(drawn) == expected, name


def test_mathml_is_what_the_standard_takes() -> None:
    for name, formula in FORMULAS.items():
        for element in ET.fromstring(mathml(formula)).iter():
            assert element.tag in {*ARITY, "mrow", "mi", "mn", "mo", "mtext", "mspace"}, name
            if element.tag in ARITY:
                assert len(element) == ARITY[element.tag], name
            elif element.tag != "mrow":
                assert len(element) == 0, name


def test_latex_is_as_pages_show_it() -> None:
    written = latex(ATTENTION["weights"].formula(CAUSAL), LIGHT.ink.of)
    assert written == (
        r"\operatorname{output} = \operatorname{concat}_h\left[\boxed{\operatorname{softmax}\left("
        r"{\color{#0072B2}Q}\,{\color{#D55E00}K}^{\top} \cdot \operatorname{scale} + M"
        r"\right)}\,{\color{#009E73}V}\right]\,W_O"
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
    ink = THEMES[theme].text_ink
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


AT, J, ONE, D = map(Symbol, "ij1D")
SUM = Sum((AT, ONE))


def line(formula: Expression) -> list[tuple[str, int]]:
    """Return the runs of a formula as their texts and levels."""
    return [(run.text, run.level) for run in runs(formula)]


@pytest.mark.parametrize(
    ("formula", "as_latex", "as_mathml", "as_runs"),
    [
        (Power(AT, Symbol("2")), "i^2", "<msup><mi>i</mi><mn>2</mn></msup>", [("i", 0), ("2", 1)]),
        (Indexed(AT, SUM), "i_{i+1}", "<msub><mi>i</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub>",
         [("i", 0), ("i+1", -1)]),
        (Fraction(ONE, D), r"\frac{1}{D}", "<mfrac><mn>1</mn><mi>D</mi></mfrac>", [("1/D", 0)]),
        (Fraction(ONE, D, small=True), r"\tfrac{1}{D}",
         '<mstyle displaystyle="false"><mfrac><mn>1</mn><mi>D</mi></mfrac></mstyle>', [("1/D", 0)]),
        (Product((AT, J)), r"i\,j", '<mrow><mi>i</mi><mspace width="0.167em"></mspace><mi>j</mi></mrow>',
         [("i\N{THIN SPACE}j", 0)]),
        (Product((AT, J), "dot"), r"i \cdot j", "<mrow><mi>i</mi><mo>⋅</mo><mi>j</mi></mrow>", [("i · j", 0)]),
        (Root(D), r"\sqrt D", "<msqrt><mi>D</mi></msqrt>", [("√D", 0)]),
        (Root(SUM), r"\sqrt{i + 1}", "<msqrt><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msqrt>", [("√(i + 1)", 0)]),
        (Total(J, None, AT), r"\sum_j i", "<mrow><munder><mo>∑</mo><mi>j</mi></munder><mi>i</mi></mrow>",
         [("Σ", 0), ("j", -1), ("i", 0)]),
        (Total(J, SUM, AT), r"\sum_{j}^{i+1} i",
         "<mrow><munderover><mo>∑</mo><mi>j</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></munderover><mi>i</mi></mrow>",
         [("Σ", 0), ("j", -1), ("i+1", 1), ("i", 0)]),
        (Logarithm(Symbol("2"), AT), r"\log_2 i",
         "<mrow><msub><mi>log</mi><mn>2</mn></msub><mo>\N{FUNCTION APPLICATION}</mo><mi>i</mi></mrow>",
         [("log", 0), ("2", -1), ("\N{THIN SPACE}i", 0)]),
        (Relation("=", (AT, J)), "i = j", "<mrow><mi>i</mi><mo>=</mo><mi>j</mi></mrow>", [("i = j", 0)]),
        (Relation("for", (AT, Relation("≤", (J, AT)))), r"i \;\text{for}\; j \le i",
         "<mrow><mi>i</mi><mtext>\N{NO-BREAK SPACE}for\N{NO-BREAK SPACE}</mtext>"
         "<mrow><mi>j</mi><mo>≤</mo><mi>i</mi></mrow></mrow>", [("i for j ≤ i", 0)]),
        (Indexed(AT, Relation("=", (J, ONE))), "i_{j=1}",
         "<msub><mi>i</mi><mrow><mi>j</mi><mo>=</mo><mn>1</mn></mrow></msub>", [("i", 0), ("j=1", -1)]),
        (Indexed(AT, Relation("∈", (J, D))), r"i_{j \in D}",
         "<msub><mi>i</mi><mrow><mi>j</mi><mo>∈</mo><mi>D</mi></mrow></msub>", [("i", 0), ("j∈D", -1)]),
        (Indexed(AT, List((AT, J))), "i_{i,j}", "<msub><mi>i</mi><mrow><mi>i</mi><mo>,</mo><mi>j</mi></mrow></msub>",
         [("i", 0), ("i,j", -1)]),
        (Row((AT, J)), r"i \qquad j", '<mrow><mi>i</mi><mspace width="2em"></mspace><mi>j</mi></mrow>',
         [("i     j", 0)]),
        (Row((AT, J), comma=True), r"i, \qquad j",
         '<mrow><mi>i</mi><mo>,</mo><mspace width="2em"></mspace><mi>j</mi></mrow>', [("i,     j", 0)]),
        (Call(Name("f"), AT), r"\operatorname{f}\left(i\right)",
         '<mrow><mi mathvariant="normal">f</mi><mo>\N{FUNCTION APPLICATION}</mo>'
         "<mrow><mo>(</mo><mi>i</mi><mo>)</mo></mrow></mrow>", [("f(i)", 0)]),
        (Call(Name("f"), AT, stretch=False), r"\operatorname{f}(i)",
         '<mrow><mi mathvariant="normal">f</mi><mo>\N{FUNCTION APPLICATION}</mo>'
         '<mrow><mo stretchy="false">(</mo><mi>i</mi><mo stretchy="false">)</mo></mrow></mrow>', [("f(i)", 0)]),
        (Fraction(Product((AT, J)), Relation("=", (AT, J))), r"\frac{i\,j}{i=j}",
         '<mfrac><mrow><mi>i</mi><mspace width="0.167em"></mspace><mi>j</mi></mrow>'
         "<mrow><mi>i</mi><mo>=</mo><mi>j</mi></mrow></mfrac>", [("(i\N{THIN SPACE}j)/(i = j)", 0)]),
        (Fraction(SUM, Sum((J, D))), r"\frac{i+1}{j+D}",
         "<mfrac><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow><mrow><mi>j</mi><mo>+</mo><mi>D</mi></mrow></mfrac>",
         [("(i + 1)/(j + D)", 0)]),
        (Transpose(AT), r"i^{\top}", "<msup><mi>i</mi><mo>⊤</mo></msup>", [("iᵀ", 0)]),
        (Box(AT), r"\boxed{i}", '<mrow class="boxed"><mi>i</mi></mrow>', [("i", 0)]),
        (Relation("→", (AT, J)), r"i \;\rightarrow\; j", "<mrow><mi>i</mi><mo>→</mo><mi>j</mi></mrow>",
         [("i → j", 0)]),
        (Words("two < words"), r"\text{two < words}", "<mtext>two &lt; words</mtext>", [("two < words", 0)]),
    ],
)  # fmt: skip
def test_each_node_is_written_as_it_is_typeset(
    formula: Expression, as_latex: str, as_mathml: str, as_runs: list[tuple[str, int]]
) -> None:
    assert latex(formula, str) == as_latex
    assert mathml(formula) == f'<math display="block">{as_mathml}</math>'
    assert line(formula) == as_runs


def test_brackets_around_a_fraction_move_up_to_it_however_deep_it_is() -> None:
    half = Fraction(ONE, D)
    for argument, is_tall in (
        (half, True),
        (Product((AT, half)), True),
        (Sum((AT, half)), True),
        (SUM, False),
        (AT, False),
    ):
        assert latex(Call(Name("f"), argument), str).startswith(r"\operatorname{f}" + r"\!" * is_tall + r"\left(")


def test_digits_are_numbers_and_letters_have_their_names() -> None:
    assert mathml(Symbol("12")) == '<math display="block"><mn>12</mn></math>'
    assert mathml(Symbol("<")) == '<math display="block"><mi>&lt;</mi></math>'
    assert mathml(Symbol("Q", "query")) == '<math display="block"><mi class="query">Q</mi></math>'
    greek = {
        "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "μ": r"\mu", "σ": r"\sigma", "ε": r"\varepsilon",
        "π": r"\pi", "Φ": r"\Phi", "x": "x",
    }  # fmt: skip
    assert {letter: latex(Symbol(letter), str) for letter in greek} == greek
    assert latex(Symbol("Q", "query"), {"query": "red"}.__getitem__) == r"{\color{red}Q}"
    boxed = runs(Sum((AT, Box(Symbol("Q", "query")))))
    assert [(run.text, run.role, run.boxed) for run in boxed] == [("i + ", None, False), ("Q", "query", True)]
