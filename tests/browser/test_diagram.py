"""The walk through a whole model on a plain page: its diagram leads through all parts, and every number is torch's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch.nn import functional as F

from attnviz.document import Document, document_of_layer, write
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import ToyTransformer
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.contexts import Contexts
from tests.browser.settle import frames

TEXT, TARGET = "the cat sat on the mat", "a dog ran"
pytestmark = pytest.mark.page("one_page")

VALUES = "() => [walk.store.values.layer, walk.store.values.step]"
STANDS = """() => {
  const boards = [...document.querySelectorAll(".walk .attnviz-board")].filter((board) => board.checkVisibility());
  const parts = document.querySelectorAll(".diagram [aria-current=step]");
  const steps = [...document.querySelectorAll("[role=radio][aria-checked=true]")];
  return !document.querySelector(".walk[aria-busy]") && parts.length === 1 &&
    steps.some((one) => one.checkVisibility()) &&
    boards.every(({ dataset: { step } }) => step === walk.store.values.step);
}"""
"""Whether a step has come: its picture is here, and one part of the model and its step are marked"""


@dataclass(frozen=True)
class Shown:
    """A model on a page: its documents, and the page."""

    documents: list[Document]
    page: WalkPage

    @property
    def route(self) -> list[list[int | str]]:
        """All steps of all documents, in order."""
        return [[n, step.name] for n, one in enumerate(self.documents) for step in one.header.steps]

    def array(self, layer: int, name: str) -> torch.Tensor:
        return torch.from_numpy(np.array(self.documents[layer].arrays[name])).double()


def shown(servers: ExitStack, **settings: Any) -> Shown:
    config = TransformerConfig(**{"architecture": "both", "width": 16, **settings})
    trace = ToyTransformer(config, WordTokenizer().tokenize).trace(TEXT, TARGET)
    documents = []
    for n in range(len(trace.places)):
        walk = trace.walk_at(n, 0)
        documents.append(document_of_layer(walk, thumbnails=True))
    attentions = [
        {
            **{"stack": place.stack, "block": place.layer, "kind": place.kind, "heads": config.heads},
            "head_size": config.width // config.heads,
            "feed_forward": [[config.width, 4 * config.width], [4 * config.width, config.width]],
            "steps": [[step.name, step.title] for step in one.header.steps],
        }
        for place, one in zip(trace.places, documents, strict=True)
    ]
    tokens = {
        "encoder": None if config.architecture == "decoder" else TEXT.split(),
        "decoder": {"encoder": None, "decoder": TEXT.split(), "both": TARGET.split()}[config.architecture],
    }
    has_head = config.architecture != "encoder"
    model = {
        **{"attentions": attentions, "norm_first": config.norm == "pre", "width": config.width},
        **{"vocabulary": 8 if has_head else None, "tokens": tokens, "positions": config.positions},
        **{"final_norm": config.norm == "pre", "head": has_head},
    }
    page = WalkPage({n: write(one) for n, one in enumerate(documents)}, model=model)
    return Shown(documents, servers.enter_context(serving(page)))


@pytest.fixture(scope="module")
def post() -> Iterator[Shown]:
    with ExitStack() as servers:
        yield shown(servers, activation="gelu")


@pytest.fixture(scope="module")
def pre() -> Iterator[Shown]:
    with ExitStack() as servers:
        yield shown(servers, norm="pre", depth=1, activation="gelu_tanh")


@pytest.fixture(scope="module")
def deep() -> Iterator[Shown]:
    with ExitStack() as servers:
        yield shown(servers, architecture="decoder", depth=6)


def diagram(page: Page) -> Locator:
    return page.get_by_role("toolbar", name="The model")


def part(page: Page, name: str) -> Locator:
    return diagram(page).get_by_role("button", name=name, exact=True)


def painted(page: Page, layer: int, step: str) -> None:
    page.wait_for_function(f"([wanted]) => String(({VALUES})()) === wanted", arg=[f"{layer},{step}"])
    page.wait_for_function("() => !document.querySelector('.walk[aria-busy]')")
    frames(page)


@pytest.mark.parametrize("model", ["post", "pre"])
def test_next_and_previous_lead_through_the_steps_of_the_model(
    page: Page, model: str, request: pytest.FixtureRequest
) -> None:
    """Through all of a model of two blocks, and of one of four from block to block of its encoder into its decoder."""
    given: Shown = request.getfixturevalue(model)
    ends = [n for n, (layer, _) in enumerate(given.route[1:]) if given.route[n][0] != layer]
    route = given.route if model == "pre" else given.route[ends[0] - 1 : ends[1] + 3]
    page.emulate_media(reduced_motion="reduce")
    (layer, step), *following = route
    WalkView.open(page, given.page.url, step=str(step), layer=int(layer))
    assert page.evaluate(VALUES) == route[0]
    for wanted in following:
        page.keyboard.press("PageDown")
        assert page.evaluate(VALUES) == wanted
        page.wait_for_function(STANDS)
    expect(page.get_by_role("button", name="Next step (→)")).to_be_visible(visible=model == "post")
    page.keyboard.press("PageUp")
    assert page.evaluate(VALUES) == route[-2]


def test_a_cell_is_written_out_as_torch_computes_it(page: Page, post: Shown) -> None:
    view = WalkView.open(page, post.page.url, step="attention_residual", layer=3)
    page.emulate_media(reduced_motion="reduce")
    for line, layer, step in (
        ("sum", 3, "attention_residual"),
        ("norm", 3, "attention_norm"),
        ("activation", 3, "feed_forward_hidden"),
        ("product", 3, "feed_forward_output"),
        ("sum", 5, "feed_forward_residual"),
        ("norm", 5, "block_output"),
        ("product", 5, "logits"),
        ("softmax", 5, "probabilities"),
    ):
        page.evaluate("at => walk.choose(at)", {"layer": layer, "step": step})
        painted(page, layer, step)
        wanted = by_torch(post, layer, step)
        np.testing.assert_allclose(view.matrix(step), wanted.numpy(), atol=1e-5)
        for i, j in ((0, 0), (2, 5)):
            view.hover(step, i, j)
            assert view.result(line) == pytest.approx(wanted[i, j].item(), abs=1e-9)
            expect(view.panel.locator("[data-line=cell]")).to_be_hidden()  # the number in the picture is the same


def by_torch(post: Shown, layer: int, step: str) -> torch.Tensor:
    """Compute the matrix of a step from what its document holds."""

    def of(name: str) -> torch.Tensor:
        return post.array(layer, name)

    norms = {"attention_norm": "attention_residual", "block_output": "feed_forward_residual"}
    if step in norms:
        gamma, beta = of(f"gamma_{step}"), of(f"beta_{step}")
        return F.layer_norm(of(norms[step]), gamma.shape, gamma, beta, 1e-5)
    compute = {
        "attention_residual": lambda: of("embeddings") + of("output"),
        "feed_forward_hidden": lambda: F.gelu(of("feed_forward_inner")),
        "feed_forward_output": lambda: F.linear(of("feed_forward_hidden"), of("W_2").T, of("b_2")),
        "feed_forward_residual": lambda: of("attention_norm") + of("feed_forward_output"),
        "logits": lambda: of("block_output") @ of("W_vocabulary"),
        "probabilities": lambda: F.softmax(of("logits"), -1),
    }
    return compute[step]()


def test_a_norm_shows_its_mean_and_variance(page: Page, pre: Shown) -> None:
    view = WalkView.open(page, pre.page.url, step="input_norm", layer=0)
    x = pre.array(0, "embeddings")[4]
    view.hover("input_norm", 4, 3)
    assert view.result("mean") == pytest.approx(x.mean().item(), abs=1e-12)
    assert view.result("variance") == pytest.approx(x.var(correction=0).item(), abs=1e-12)
    expect(view.line("norm")).to_contain_text("(γ)")
    view.line("variance").locator("details").evaluate("details => { details.open = true }")
    expect(view.line("variance").locator(".term-product")).to_have_count(16)


def test_the_approximation_of_gelu_is_written_out(page: Page, pre: Shown) -> None:
    wanted = F.gelu(pre.array(0, "feed_forward_inner"), approximate="tanh")
    view = WalkView.open(page, pre.page.url, step="feed_forward_hidden", layer=0)
    for i, j in ((1, 3), (4, 20)):
        view.hover("feed_forward_hidden", i, j)
        assert view.result("activation") == pytest.approx(wanted[i, j].item(), abs=1e-9)
        expect(view.line("activation")).to_contain_text("0.044715")
        expect(view.panel.locator("[data-line=cell]")).to_be_hidden()


def test_a_pinned_row_says_nothing_of_keys_after_attention(page: Page, post: Shown) -> None:
    view = WalkView.open(page, post.page.url, step="feed_forward_hidden", layer=0, q=1, k=2)
    expect(view.panel).to_contain_text("Point at a cell")
    expect(view.panel.locator("[data-line=scores]")).to_be_hidden()


def test_every_step_can_be_played(page: Page, post: Shown) -> None:
    """At each moment it says something that is computed, and in the end it shows the picture."""
    WalkView.open(page, post.page.url, step="attention_residual", layer=5)
    steps = [step for layer, step in post.route if layer == 5]
    for step in steps[steps.index("attention_residual") :]:
        page.evaluate("step => walk.choose({ step })", step)
        painted(page, 5, str(step))
        said = page.evaluate("""() => {
          const { timeline } = walk.view.drawing.motion;
          return timeline.stills.map((t) => timeline.at(t)).map(({ says, blank }) =>
            [says.map(([text]) => text).join(""), Object.values(blank).flat().length]);
        }""")
        assert len(said) > 5, step
        assert not [text for text, _ in said if re.search("NaN|undefined|null", text)], step
        assert said[0][1] > 0 and said[-1][1] == 0, step
        assert [text for text, _ in said if re.search(r"= −?\d", text)], step


def test_the_diagram_is_used_by_keyboard_alone(page: Page, deep: Shown) -> None:
    page.set_viewport_size({"width": 900, "height": 700})
    WalkView.open(page, deep.page.url, step="weights", layer=2)
    page.keyboard.press("Tab")
    expect(part(page, "decoder block 2, masked attention")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(part(page, "decoder block 2, add, after attention")).to_be_focused()
    assert page.evaluate(VALUES) == [2, "weights"]  # arrows move the focus alone
    page.keyboard.press("Enter")
    painted(page, 2, "attention_residual")
    expect(part(page, "decoder block 2, add, after attention")).to_have_attribute("aria-current", "step")
    page.keyboard.press("End")
    expect(part(page, "decoder, softmax")).to_be_focused()
    page.keyboard.press("Home")
    expect(part(page, "decoder, tokens")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(part(page, "decoder block 1, closed")).to_be_focused()
    page.keyboard.press("Enter")
    painted(page, 1, "attention_residual")  # the same part of the other block
    expect(part(page, "decoder block 1, add, after attention")).to_be_focused()
    expect(part(page, "decoder block 2 to 5, closed")).to_be_visible()


def test_a_part_is_tapped_on_a_phone(new_context: Contexts, deep: Shown) -> None:
    page = new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    WalkView.open(page, deep.page.url, step="probabilities", layer=5)
    box, room = part(page, "decoder, softmax").bounding_box(), diagram(page).bounding_box()
    assert box and room
    assert room["x"] <= box["x"] and box["x"] + box["width"] <= room["x"] + room["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    part(page, "decoder block 5, norm after feed-forward").tap()
    painted(page, 5, "block_output")
    expect(part(page, "decoder block 5, norm after feed-forward")).to_have_attribute("aria-current", "step")


def test_heads_are_offered_where_there_are_any(page: Page, post: Shown) -> None:
    WalkView.open(page, post.page.url, step="weights", layer=0)
    expect(page.get_by_role("button", name="head 1")).to_be_visible()
    part(page, "encoder block 0, norm after attention").click()
    painted(page, 0, "attention_norm")
    expect(page.get_by_role("button", name="head 1")).to_be_hidden()
    expect(page.get_by_role("combobox", name="Layer")).to_be_hidden()
