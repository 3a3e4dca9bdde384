"""What a step's numbers say speaks of the row that is pinned: each number in the sentence is torch's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch
from playwright.sync_api import Page, expect
from torch.nn import functional as F

from attnviz.document import document_of_layer, write
from attnviz.steps import STEPS, WALK
from attnviz.toy.config import ToyConfig
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.trace import Trace
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.settle import frames
from tests.browser.test_diagram import TEXT as BLOCK_TEXT
from tests.browser.test_diagram import Shown, shown
from tests.loaded import built_in_model
from tests.toy import run_block

TEXT = "The animal didn't cross the street because it was too tired."

pytestmark = pytest.mark.page("one_page")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return built_in_model().trace(TEXT)


@pytest.fixture(scope="module")
def walks(trace: Trace) -> Iterator[WalkPage]:
    with serving(WalkPage({1: write(document_of_layer(trace.walk(1, 0)))})) as page:
        yield page


@pytest.fixture(scope="module")
def decoder() -> Iterator[Shown]:
    with ExitStack() as servers:
        yield shown(servers, architecture="decoder", depth=1, activation="gelu")


def said(page: Page) -> str:
    frames(page)
    return page.locator(".walk .fact").inner_text().replace("\xa0", " ")  # a number and its "%" stay in one line


def pin(page: Page, q: int | None, k: int | None = None) -> str:
    """Pin as a link does, and return what is said."""
    page.evaluate("(pin) => walk.show(pin)", {"q": q, "k": k})
    return said(page)


def numbers(sentence: str) -> list[float]:
    """Return the numbers after the token's name, which may hold digits."""
    rest = re.sub("“[^”]*”", "“”", sentence).replace("−", "-")
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", rest)]


def weights(trace: Trace, head: int) -> torch.Tensor:
    layer = trace.layer(1)
    query, key = layer.query[head].double(), layer.key[head].double()
    return F.softmax(query @ key.T / query.shape[1] ** 0.5, -1)


def test_the_weights_of_the_pinned_row_are_named(page: Page, walks: WalkPage, trace: Trace) -> None:
    labels = trace.walk(1, 3).query_labels
    expected = weights(trace, 3)
    WalkView.open(page, walks.url, step="weights", head=3, q=7)
    unpinned = trace.walk(1, 3)
    for q in (7, 0, len(labels) - 1):
        most = int(expected[q].argmax())
        sentence = (
            f"Here row {q}, “{labels[q]}”, puts {100 * expected[q, most]:.0f} % on column {most}, “{labels[most]}”."
        )
        assert (said(page) if q == 7 else pin(page, q)) == sentence
    k, most = int(expected[4].argmin()), int(expected[4].argmax())
    sentence = pin(page, 4, k)
    assert sentence.startswith(f"Here row 4, “{labels[4]}”, puts ")
    assert f" on column {k}, “{labels[k]}”; most, " in sentence
    assert sentence.endswith(f"{100 * expected[4, most]:.0f} %, on column {most}, “{labels[most]}”.")
    assert numbers(sentence)[1] == pytest.approx(100 * float(expected[4, k]), abs=0.006)
    assert ";" not in pin(page, 4, most)
    row = int(expected[:, k].argmax())
    sentence = pin(page, None, k)
    assert sentence.startswith(f"Here column {k}, “{labels[k]}”, gets most from row {row}, “{labels[row]}”: ")
    assert numbers(sentence)[-1] == pytest.approx(100 * float(expected[row, k]), abs=0.5)
    assert pin(page, None) == STEPS["weights"].fact(unpinned)


def test_a_click_and_keys_change_what_is_said(page: Page, walks: WalkPage, trace: Trace) -> None:
    expected = weights(trace, 3)
    view = WalkView.open(page, walks.url, step="weights", head=3)
    before = said(page)
    view.click("weights", 2, 5)
    assert said(page).startswith("Here row 2, ")
    assert numbers(said(page))[1] == pytest.approx(100 * float(expected[2, 5]), abs=0.5)
    page.keyboard.press("f")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert said(page).startswith("Here row 4, ")
    assert numbers(said(page))[1] == pytest.approx(100 * float(expected[4, 5]), abs=0.5)
    page.keyboard.press("Escape")
    expect(page.locator(".walk .fact")).to_have_text(before)


def test_the_scores_of_the_pinned_row_are_named(page: Page, walks: WalkPage, trace: Trace) -> None:
    layer = trace.layer(1)
    scores = layer.query[3].double() @ layer.key[3].double().T
    WalkView.open(page, walks.url, step="scaled", head=3)
    for q in (0, 7, len(scores) - 1):
        at = int(scores[q].abs().argmax())
        row, before, after, _ = numbers(pin(page, q))
        assert (row, before) == (q, pytest.approx(float(scores[q, at]), abs=0.006))
        assert after == pytest.approx(float(scores[q, at]) / layer.query.shape[2] ** 0.5, abs=0.006)
    row, column, before, *_ = numbers(pin(page, 7, 2))
    assert (row, column, before) == (7, 2, pytest.approx(float(scores[7, 2]), abs=0.006))


def test_the_first_row_of_a_causal_head_puts_all_on_itself(page: Page, decoder: Shown) -> None:
    first = BLOCK_TEXT.split()[0]
    WalkView.open(page, decoder.page.url, step="weights", q=0)
    assert said(page) == f"Here row 0, “{first}”, puts 100 % on column 0, “{first}”."
    assert ", which is hidden from it; most, 100 %, " in pin(page, 0, 3)


def test_each_step_of_a_block_speaks_of_the_pinned_row(page: Page, decoder: Shown) -> None:
    def array(name: str) -> torch.Tensor:
        return decoder.array(0, name)

    def ratio(added: str, stream: str) -> torch.Tensor:
        return 100 * array(added).norm(dim=-1) / array(stream).norm(dim=-1)

    WalkView.open(page, decoder.page.url, step="tokens")
    rows = len(BLOCK_TEXT.split())
    hidden, logits, probabilities = array("feed_forward_hidden"), array("logits"), array("probabilities")
    expected = {
        "attention_residual": [ratio("output", "embeddings")],
        "feed_forward_residual": [ratio("feed_forward_output", "attention_norm")],
        "attention_norm": [array("attention_residual").var(-1, unbiased=False), array("attention_residual").mean(-1)],
        "block_output": [
            array("feed_forward_residual").var(-1, unbiased=False),
            array("feed_forward_residual").mean(-1),
        ],
        "feed_forward_output": [array("feed_forward_output").norm(dim=-1)],
        "logits": [logits.max(-1).values],
        "probabilities": [100 * probabilities.max(-1).values],
    }
    for step, columns in expected.items():
        page.evaluate("(step) => walk.show({ step })", step)
        page.wait_for_function("walk.view")  # its script comes with the first picture
        for q in (0, 2, rows - 1):
            sentence = pin(page, q)
            assert f"row {q}, “{BLOCK_TEXT.split()[q]}”" in sentence
            accuracy = 0.51 if "%" in sentence else 0.006
            assert numbers(sentence)[1:] == [pytest.approx(float(one[q]), abs=accuracy) for one in columns], step
    page.evaluate("() => walk.show({ step: 'feed_forward_hidden' })")
    fires, row, _, neuron, most = numbers(pin(page, 2))
    assert (row, neuron) == (2, int(hidden[2].argmax()))
    assert fires == pytest.approx(100 * float((hidden[2] > 0).double().mean()), abs=0.51)
    assert most == pytest.approx(float(hidden[2].max()), abs=0.006)


def test_nothing_is_said_of_a_covered_row(page: Page, walks: WalkPage) -> None:
    WalkView.open(page, walks.url, step="weights", head=3, q=7, predict=1)
    expect(page.locator(".walk .fact")).to_be_empty()


def test_the_angles_of_the_pinned_row_are_said_where_queries_turn(page: Page) -> None:
    walk = run_block(range(6), ToyConfig(positions="rotary"), "abcdef").walk(0, 0)
    with serving(WalkPage({0: write(document_of_layer(walk))})) as server:
        WalkView.open(page, server.url, step="rotated", layer=0, head=0)
        assert said(page) == WALK["rotated"].fact(walk)
        turns = "the first pair of dimensions turns by −2.28, the last by 0.00, in radians, without full turns (2π)."
        assert pin(page, 4) == f"In row 4, “e”, {turns}"
        assert walk.layer.rotation is not None
        assert walk.layer.rotation.angles[4, [0, -1]].tolist() == pytest.approx([4 - 2 * torch.pi, 0.004], abs=1e-6)


def test_a_layer_without_a_rotation_shows_the_step_before_it(page: Page) -> None:
    """As in SmolLM3, whose layers do not all turn their queries."""
    walks = [run_block(range(6), ToyConfig(positions=kind), "abcdef").walk(0, 0) for kind in ("rotary", "none")]
    documents = {n: write(document_of_layer(replace(walk, layer_index=n))) for n, walk in enumerate(walks)}
    with serving(WalkPage(documents)) as server:
        WalkView.open(page, server.url, step="rotated", layer=0, head=0)
        page.evaluate("walk.show({ layer: 1 })")
        expect(page.get_by_role("radio", name="Q, K, V", exact=True)).to_be_checked()
        expect(page.get_by_role("radio", name="Rotated Q, K", exact=True)).to_have_count(0)


def test_the_length_of_the_pinned_query_is_said_before_and_after_its_norm(page: Page) -> None:
    walk = run_block(range(6), ToyConfig(), "abcdef").walk(0, 0)
    norms = {name: HeadNorm("rms", torch.full((2, 8), 0.5), None, 1e-6) for name in ("query", "key")}
    walk = replace(walk, layer=replace(walk.layer, norms=norms))
    with serving(WalkPage({0: write(document_of_layer(walk))})) as server:
        WalkView.open(page, server.url, step="normed", layer=0, head=0)
        assert said(page) == WALK["normed"].fact(walk)
        before, after = (float(of[0, 4].norm()) for of in (walk.layer.projected("query"), walk.layer.normed("query")))
        expected = f"The query of row 4, “e”, had a length of {before:.2f}; after its norm it has {after:.2f}."
        assert pin(page, 4) == expected
