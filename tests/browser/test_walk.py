"""The walk on a plain page: everything is painted without a server, and every number is torch's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, Route, expect
from torch.nn import functional as F

from attnviz.document import document_of_layer, write
from attnviz.steps import STEPS
from attnviz.trace.layer import LayerTrace
from attnviz.trace.trace import Trace
from tests.browser.apps.walk_page import WalkPage, WalkView, serving
from tests.browser.contexts import Contexts
from tests.browser.screens import SCREENS, move_to
from tests.browser.settle import frames, in_the_end
from tests.loaded import built_in_model

TEXT = "The animal didn't cross the street because it was too tired."
LAYERS = 3

pytestmark = pytest.mark.page("one_page")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return built_in_model().trace(TEXT)


def document(trace: Trace, layer: int) -> bytes:
    walk = trace.walk(layer, 0)
    return write(document_of_layer(walk, thumbnails=True))


@pytest.fixture(scope="module")
def walks(trace: Trace) -> Iterator[WalkPage]:
    with serving(WalkPage({layer: document(trace, layer) for layer in range(LAYERS)})) as page:
        yield page


def weights(layer: LayerTrace, head: int) -> torch.Tensor:
    """Compute a head's weights with torch, (T, T)."""
    query, key = layer.query[head].double(), layer.key[head].double()
    return F.softmax(query @ key.T / query.shape[1] ** 0.5, -1)


def test_a_walk_stays_sharp_when_the_window_moves_to_a_denser_screen(new_context: Contexts, walks: WalkPage) -> None:
    page = new_context().new_page()
    page.add_init_script(SCREENS)
    WalkView.open(page, walks.url, step="weights")
    densities = """() => [...document.querySelectorAll('.walk canvas')]
      .filter((canvas) => canvas.checkVisibility() && canvas.clientWidth > 20)
      .map((canvas) => canvas.width / canvas.clientWidth)"""
    before = page.evaluate(densities)
    assert len(before) == 13, "the stage, and a thumbnail a head"
    move_to(page, 2)
    expected = [pytest.approx(2 * one, rel=0.02) for one in before]
    assert in_the_end(page, lambda: page.evaluate(densities), lambda now: now == expected) == expected


def test_steps_are_painted_in_the_frame_of_the_click_and_ask_for_no_numbers(page: Page, walks: WalkPage) -> None:
    page.goto("about:blank")  # for a document of its own, which has fetched nothing
    view = WalkView.open(page, walks.url, step="embeddings", layer=1, head=3)
    page.wait_for_timeout(1500)  # what lies next is fetched ahead
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.emulate_media(reduced_motion="reduce")
    for name, step in list(STEPS.items())[1:]:
        at_once = page.evaluate(
            """(title) => {
          const steps = [...document.querySelectorAll('[aria-label=Step] [role=radio]')];
          steps.find((one) => one.textContent === title).click();
          const board = document.querySelector('.walk .attnviz-board').attnviz;
          return board.shown.panels.at(-1).name;
        }""",
            "Hidden states" if name == "embeddings" else step.title,
        )
        assert at_once in (name, "row_sum", "value")
    frames(page)
    page.wait_for_function("() => !document.querySelector('.walk .attnviz-board').attnviz.changing")
    assert view.painted == ["output", "1", "3"]
    assert [url.rpartition("/")[2] for url in requests] == ["end.ts"]  # the script of what follows the last step
    assert view.changes == [{"step": name} for name in list(STEPS)[2:]]


def test_what_is_pinned_or_guessed_while_the_script_is_on_its_way(page: Page, walks: WalkPage) -> None:
    page.goto("about:blank")
    held: list[Route] = []
    page.route("**/matrix_view.ts", lambda route: held.append(route))  # noqa: PLW0108
    page.goto(walks.link(layer=1, head=3, step="weights", predict=1, q=3, k=2))
    note, board = page.locator(".walk .note"), page.locator(".walk .attnviz-board")
    expect(note).to_have_text("The picture is on its way …")
    expect(page.locator(".walk .strip canvas")).to_have_count(0)  # they would show the row that is to be guessed
    page.keyboard.press("r")
    page.keyboard.press("Escape")
    page.wait_for_function("() => window.changes.length")
    assert page.evaluate("[window.changes, walk.store.values.predict]") == [[{"q": None, "k": None}], True]
    assert len(held) == 1
    held[0].continue_()
    expect(board).to_be_visible()
    expect(note).to_have_text("")
    expect(page.get_by_text("Row 0, “[CLS]”, is covered")).to_be_visible()


def test_a_step_whose_script_does_not_come_says_so_and_is_shown_once_it_comes(page: Page, walks: WalkPage) -> None:
    page.goto("about:blank")
    page.route("**/matrix_view.ts", lambda route: route.abort())
    page.goto(walks.link(step="tokens"))
    page.get_by_role("radio", name="Scores", exact=True).click()
    note, board = page.locator(".walk .note"), page.locator(".walk .attnviz-board")
    expect(note).to_contain_text("This step can't be shown: the server does not answer. It is asked for again.")
    expect(board).to_be_hidden()
    page.unroute("**/matrix_view.ts")
    expect(note).to_have_text("", timeout=15_000)
    expect(board).to_be_visible()


def test_a_cell_is_followed_and_pinned(page: Page, walks: WalkPage, trace: Trace) -> None:
    view = WalkView.open(page, walks.url, step="weights", layer=1, head=3)
    expected = weights(trace.layer(1), 3)
    view.hover("weights", 4, 7)
    assert view.result("weights") == pytest.approx(float(expected[4, 7]), abs=1e-6)
    assert ("weights", "cell") in view.marks()
    view.click("weights", 2, 5)
    view.leave()
    expect(view.panel.locator(".badge")).to_have_text("pinned")
    assert view.result("weights") == pytest.approx(float(expected[2, 5]), abs=1e-6)
    view.step("Head outputs")
    assert view.result("weights") == pytest.approx(float(expected[2, 5]), abs=1e-6)
    page.keyboard.press("Escape")
    expect(view.panel.locator(".hint")).to_contain_text("Point at a cell")
    assert view.changes == [{"q": 2, "k": 5}, {"step": "head_outputs"}, {"q": None, "k": None}]


def test_keys_step_pin_and_move(page: Page, walks: WalkPage) -> None:
    view = WalkView.open(page, walks.url, step="scaled", layer=1, head=3)
    for key, painted in (
        ("ArrowRight", ["masked", "1", "3"]), ("ArrowLeft", ["scaled", "1", "3"]), ("h", ["scaled", "1", "4"]),
        ("Shift+h", ["scaled", "1", "3"]), ("y", ["scaled", "2", "3"]), ("PageDown", ["masked", "2", "3"]),
    ):  # fmt: skip
        page.keyboard.press(key)
        page.wait_for_function(
            "(css) => deepFind(css).attnviz.changing === false && !document.querySelector('[aria-busy]')",
            arg=view.picture,
        )
        frames(page)
        assert view.painted == painted
    page.keyboard.press("f")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    frames(page)
    assert view.changes[-1] == {"q": 2, "k": 1} or view.changes[-1] == {"q": 2}
    expect(view.panel.get_by_role("heading")).to_contain_text("row 2")
    expect(view.panel.get_by_role("heading")).to_contain_text("column 1")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(page.get_by_text("masked = scaled")).to_be_visible()


def test_heads_and_layers(page: Page, walks: WalkPage, trace: Trace) -> None:
    view = WalkView.open(page, walks.url, step="weights")
    assert view.painted == ["weights", "0", "0"]
    page.get_by_role("button", name="head 7").click()
    frames(page)
    assert view.painted == ["weights", "0", "7"]
    np.testing.assert_allclose(view.matrix("weights"), weights(trace.layer(0), 7).numpy(), atol=1e-6)
    page.get_by_role("combobox", name="Layer").select_option("layer 2")
    page.wait_for_selector(".walk [data-layer='2']")
    np.testing.assert_allclose(view.matrix("weights"), weights(trace.layer(2), 7).numpy(), atol=1e-6)
    assert view.changes == [{"head": 7}, {"layer": 2}]
    expect(page.locator(".walk-formula .boxed")).to_be_visible()


def test_a_layer_that_comes_after_another_text_is_not_shown(page: Page, walks: WalkPage) -> None:
    WalkView.open(page, walks.url, step="weights")
    kept = page.evaluate("""async () => {
      const { read } = await import("/frontend/core/document.ts");
      const { source } = walk.home;
      const answer = await source.request("2");
      const other = read(new Uint8Array(await answer.clone().arrayBuffer()));
      let arrive;
      source.request = () => new Promise((resolve) => { arrive = () => resolve(answer); });
      walk.choose({ layer: 2 });
      walk.show({}, other);
      arrive();
      await new Promise((done) => setTimeout(done, 50));
      return walk.store.document === other;
    }""")
    assert kept


def test_a_row_is_guessed_and_revealed(page: Page, walks: WalkPage) -> None:
    view = WalkView.open(page, walks.url, step="weights", q=3)
    expect(page.locator(".fact")).not_to_be_empty()
    page.locator(".menu summary").click()
    page.get_by_role("switch", name="Guess a row").click()
    expect(page.locator(".menu summary")).to_have_accessible_name("More, Guess a row")
    guess = page.locator(".guess")
    expect(guess).to_contain_text("Row 3, “didn”, is covered. Which of its cells is the largest? Choose one.")
    top = page.locator(".walk .picture").evaluate("(e) => e.getBoundingClientRect().top")
    covered = "(css) => [2, 5].map((k) => deepFind(css).attnviz.covers('weights')(3, k))"
    assert page.evaluate(covered, view.picture) == [True, True]
    expect(page.locator(".fact")).to_be_empty()  # it might give the row away
    view.click("weights", 3, 5)
    assert page.evaluate(covered, view.picture) == [True, False]
    expect(guess).to_contain_text(re.compile(r"Guess 1: column 5 \(“.+”\) has .*largest of \d+. Try again\."))
    view.click("weights", 5, 5)
    expect(guess).to_contain_text("Row 3, “didn”, stays covered until it is revealed.")
    page.get_by_role("button", name="Reveal", exact=True).click()
    expect(guess).to_contain_text(re.compile(r"Row 3, “didn”: the largest is column \d+.*Guesses: 1\."))
    view.click("weights", 5, 5)
    expect(guess).to_contain_text("Row 5, “t”, is covered.")
    assert page.evaluate(covered, view.picture) == [False, False]
    page.keyboard.press("p")
    expect(guess).to_contain_text("Row 5, “t”: the largest is")
    assert page.locator(".walk .picture").evaluate("(e) => e.getBoundingClientRect().top") == top
    assert page.evaluate("window.revealed") == 1
    assert view.changes == [{"predict": True}, {"q": 5, "k": 5}, {"predict": False}]


def test_without_a_pin_the_first_row_is_covered_and_named(page: Page, walks: WalkPage) -> None:
    WalkView.open(page, walks.url, step="weights", predict=1)
    expect(page.get_by_text("Row 0, “[CLS]”, is covered.")).to_be_visible()
    page.get_by_role("radio", name="Concat").click()
    expect(page.locator(".guess")).to_be_hidden()


def test_colours_are_stretched_to_the_largest_weight(page: Page, walks: WalkPage, trace: Trace) -> None:
    view = WalkView.open(page, walks.url, step="weights", head=0)
    high = "(css) => deepFind(css).attnviz.shown.panels.find(({ name }) => name === 'weights').high"
    assert page.evaluate(high, view.picture) == 1
    page.locator(".menu summary").click()
    page.get_by_role("switch", name=re.compile("Darken")).click()
    assert page.evaluate(high, view.picture) == pytest.approx(float(weights(trace.layer(0), 0).max()), abs=1e-6)


def test_the_menu_opens_by_key_and_by_pointer_and_is_left_by_escape_and_by_a_click_elsewhere(
    page: Page, walks: WalkPage
) -> None:
    """Also that nothing else is seen which is rarely chosen, until one points at the picture or at the card."""
    view = WalkView.open(page, walks.url, step="weights", head=0)
    button, guess = page.locator(".menu summary"), page.get_by_role("switch", name="Guess a row")
    expect(button).to_have_accessible_name("More")
    expect(guess).to_be_hidden()
    button.press("Enter")
    page.keyboard.press("Tab")
    expect(guess).to_be_focused()
    page.keyboard.press("Space")
    expect(guess).to_be_checked()
    expect(button).to_have_accessible_name("More, Guess a row")
    page.keyboard.press("Escape")
    expect(guess).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    guess.click()
    expect(guess).to_be_hidden()
    assert view.changes == [{"predict": True}, {"predict": False}]
    expect(button).to_have_accessible_name("More")
    button.click()
    page.locator(".walk-formula").first.click()
    expect(guess).to_be_hidden()

    page.mouse.move(2, 2)
    button.focus()
    pace = page.locator(".picture .player .pace")
    tools = ".attnviz-zoom, .inspector .fields, .picture .player .pace, .focus-buttons"
    opacity = "(all) => all.map((one) => getComputedStyle(one).opacity)"
    assert page.locator(tools).evaluate_all(opacity) == ["0"] * 4
    places = """() => ['.inspector', '.inspector .fields', '.picture .player > *'].flatMap((css) =>
      [...document.querySelectorAll(css)].map((one) => JSON.stringify(one.getBoundingClientRect())))"""
    hidden = page.evaluate(places)
    for shown in (".inspector", ".picture .player"):  # nothing moves when they come
        page.locator(shown).hover()
        assert page.locator(f"{shown} :is(.fields, .pace)").evaluate_all(opacity) == ["1"]
        assert page.evaluate(places) == hidden
    page.locator(".attnviz-board").hover()
    assert page.locator(".focus-buttons").evaluate_all(opacity) == ["1"]
    pace.hover()
    assert pace.evaluate_all(opacity) == ["1"]
    page.locator(".inspector input").first.focus()
    assert page.locator(".inspector .fields").evaluate_all(opacity) == ["1"]


def test_the_sentence_shows_the_typed_words_and_a_table_their_tokens(page: Page) -> None:
    trace = built_in_model().trace("Zürich sleeps")
    tokens = trace.query_tokens("encoder")
    with serving(WalkPage({0: document(trace, 0)})) as walks:
        WalkView.open(page, walks.url, step="tokens")
        expect(page.locator(".walk .word bdi")).to_have_text(["[CLS]", "Zürich", "sleeps", "[SEP]"])
        page.get_by_text("Tokens and their ids").click()
        texts = "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
        rows = page.get_by_role("row").evaluate_all(texts)
    assert rows[0] == ["position", "token", "id", "stands for", "characters"]
    assert [row[:3] for row in rows[1:]] == [
        [str(i), label, str(token)] for i, (label, token) in enumerate(zip(tokens.labels, tokens.ids, strict=True))
    ]
    assert rows[1][3:] == ["added", "–"]
    covered = [row[3].strip('"') for row in rows[2:-1]]
    assert "".join(covered) == "Zürichsleeps"
    assert rows[-2][3:] == ['"sleeps"', "7 to 12"]
    expect(page.locator(".walk .attnviz-board")).to_be_hidden()
    expect(page.get_by_role("region", name="Arithmetic of one cell")).to_be_hidden()


def test_the_drawing_is_chosen_by_keys_as_radio_buttons_are(page: Page, trace: Trace) -> None:
    """Tab leads to the chosen one, arrow keys to the others; at the steps they are the walk's own."""
    pages = WalkPage({1: document(trace, 1)}, drawings=[("stage", "Animated"), ("chart", "Plotly")])
    with serving(pages) as walks:
        view = WalkView.open(page, walks.url, step="scores", layer=1, head=3)
        page.locator("[aria-label=Step] [role=radio][aria-checked=true]").focus()
        for _ in range(3):  # over the arrow and the walk that plays
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # opens the menu
        page.keyboard.press("Tab")
        drawn = page.locator("[aria-label=Drawing] [role=radio]:focus")
        expect(drawn).to_have_text("Animated")
        for key, name in (("ArrowRight", "Plotly"), ("ArrowRight", "Animated"), ("ArrowUp", "Plotly")):
            page.keyboard.press(key)
            expect(drawn).to_have_text(name)
            expect(drawn).to_have_attribute("aria-checked", "true")
        assert view.changes == [{"drawing": "chart"}, {"drawing": "stage"}, {"drawing": "chart"}]
        page.keyboard.press("Escape")
        expect(page.locator(".menu summary")).to_be_focused()
        page.locator("[aria-label=Step] [role=radio][aria-checked=true]").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("[aria-label=Step] [role=radio][aria-checked=true]")).to_have_text("Scaled")
        page.locator(".menu summary").click()
        page.get_by_role("radio", name="Animated", exact=True).click()
        expect(drawn).to_be_hidden()
        page.keyboard.press("ArrowRight")  # after a click as well: a clicker sends it
        expect(page.locator("[aria-label=Step] [role=radio][aria-checked=true]")).to_have_text("Masked")
