"""Examples and "Surprise me" beside the text field, through `app.py`: what they open and say, on any text."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.lessons import gallery, text_examples
from tests.app.pages import go_to_page, html, messages, open_page, open_parts, payload
from tests.loaded import built_in_model

BICYCLE = "My sister bought a bicycle because she wanted to ride it to work."
HOSTILE = [
    "",
    "   ",
    "one",
    "a b",
    ". , !",
    "\x00",
    "👋🏽 👋🏽 👋🏽",
    "<script>alert(1)</script> **b** $x$",
    "שלום עולם טוב",
]
LONG = "many words " * 300


def opened(page: str, **query: str) -> AppTest:
    return open_page("" if page == "step_by_step" else page, **query)


def surprise(at: AppTest) -> str:
    """Choose it among the examples; return what the page then says about the head."""
    open_parts(at, examples=True)
    at.button(key="surprise").click().run()
    assert not at.exception
    return reason(at)


def reason(at: AppTest) -> str:
    return re.sub(r"<[^>]+>", "", html(at, 'class="said"'))


def examples(at: AppTest) -> list[str]:
    """Open the control; return the titles that it offers."""
    open_parts(at, examples=True)
    return [re.findall(r"\*\*(.*?)\*\*", re.sub(r"\\(.)", r"\1", one.label))[0] for one in offered(at)]


def offered(at: AppTest) -> list[object]:
    return [button for button in at.button if (button.key or "").startswith("example_")]


def weight(text: str, layer: int, head: int, query: int, key: int) -> tuple[float, float]:
    """Compute a weight, and the mean of the same cell in all other heads of the built-in model."""
    trace = built_in_model().trace(text)
    cells = [trace.attentions(at)[:, query, key] for at in range(6)]
    own = float(cells[layer][head])
    return own, (sum(float(one.sum()) for one in cells) - own) / 71


@pytest.mark.parametrize("page", ["step_by_step", "heads"])
def test_surprise_opens_the_head_that_it_speaks_of_and_then_the_next(page: str) -> None:
    at = opened(page, text=BICYCLE)
    seen = []
    for number in (1, 2, 3):
        says = surprise(at)
        if page == "step_by_step":
            assert says.startswith("The toy has learned nothing, so this is ") == (number == 1)
        layer, head, query, key, own, others = re.findall(
            r"Layer (\d), head (\d+): “(\S+)” looks at (?:another )?“(\S+)” with (0\.\d+); .* mean is (0\.\d+)", says
        )[0]
        link = dict(at.query_params)
        assert (link.get("layer", "0"), link.get("head", "0")) == (layer, head)
        assert page == "heads" or (link["source"], link["step"]) == ("pretrained", "tokens")
        q, k = int(link["q"]), int(link["k"])
        labels = built_in_model().trace(BICYCLE).tokens.labels
        assert (labels[q], labels[k]) == (query, key)
        expected = weight(BICYCLE, int(layer), int(head), q, k)
        assert (float(own), float(others)) == pytest.approx(expected, abs=0.006)
        assert f"{number} of " in says
        seen.append((layer, head, q, k))
    assert seen[0] == ("3", "1", 11, 5)  # "it" and "bicycle"
    assert len(set(seen)) == 3
    assert "Layer" not in reason(at.switch_page("../../pages/lessons.py").run()), "there is no text on Start"
    at.switch_page(f"../../pages/{page}.py").run()
    assert reason(at) == says
    at.text_area(key="text").set_value("Another text, please.").run()
    assert reason(at) == ""  # what was said of the text before is gone


def test_surprise_that_a_change_of_page_overtakes_opens_nothing_there_and_later() -> None:
    at = opened("step_by_step", text=BICYCLE)
    for page in ("heads", "lessons"):
        examples(at)
        at.button(key="surprise").click()
        at.switch_page(f"../../pages/{page}.py").run()
        assert not at.exception
        if page == "heads":
            assert payload(at, "explorer")[0]["view"]["q"] is None
        at.switch_page("../../pages/step_by_step.py").run()
        assert payload(at, "walk")[0]["values"]["q"] is None
        assert reason(at) == ""
    assert "Layer 3, head 1: " in surprise(at)


@pytest.mark.parametrize("page", ["step_by_step", "heads"])
def test_surprise_on_any_text_says_a_sentence(page: str) -> None:
    at = opened(page)
    for text in [*HOSTILE, LONG] if page == "step_by_step" else ["", HOSTILE[7]]:  # both pages ask the same function
        go_to_page(at, page, {"text": text, "source": "pretrained"} if page == "step_by_step" else {"text": text})
        says = surprise(at)
        assert not any(tag in says for tag in ("<script", "<b>"))
        if not text.strip():
            assert "Type a sentence" in messages(at)
        elif says != "No head stands out on this text. That takes two words that are not next to each other.":
            assert re.search(r"^Layer \d, head \d+: “.+” looks at (another )?“.+” with [01]\.\d+;", says), (text, says)
    for text in ("one", "a b", ". , !"):
        go_to_page(at, page, {"text": text})
        assert surprise(at).endswith("two words that are not next to each other.")


def test_surprise_with_a_model_that_is_not_there_shows_the_built_in_one() -> None:
    at = open_page(text=BICYCLE, source="pretrained", model="/no/such/folder")
    assert surprise(at).startswith("Layer 3, head 1: “it” looks at “bicycle” with 0.97")
    assert "MiniLM (a small BERT)" in messages(at)


@pytest.mark.parametrize("page", ["step_by_step", "heads", "compare"])
def test_an_example_opens_the_head_that_shows_it(page: str) -> None:
    at = opened(page)
    assert examples(at) == [one.title for one in gallery()]
    example = next(one for one in gallery() if one.title == "What is “it”?")
    at.button(key=f"example_{gallery().index(example)}").click().run()
    assert not at.exception
    assert messages(at) == ""
    expected = example.link(page)
    assert expected.items() <= dict(at.query_params).items()
    assert at.text_area(key="text").value == example.text
    assert not offered(at)  # it has closed


@pytest.mark.parametrize("page", ["step_by_step", "heads"])
def test_an_example_may_bring_its_text_alone(page: str) -> None:
    at = opened(page, layer="1", head="1")
    examples(at)
    at.toggle(key="examples_with_head").set_value(False).run()
    at.button(key="example_0").click().run()
    assert not at.exception
    now = {name: "".join(value) for name, value in at.query_params.items()}
    assert at.text_area(key="text").value == now.pop("text") == gallery()[0].text
    assert now == ({"head": "1"} if page == "step_by_step" else {"layer": "1", "head": "1"})


@pytest.mark.parametrize("page", ["averages", "tokens"])
def test_pages_without_heads_have_sentences_of_their_own(page: str) -> None:
    at = open_page(page)
    own = [one for one in text_examples() if one.page == page]
    assert examples(at) == [one.title for one in own]
    for number, example in enumerate(own):
        examples(at)
        at.button(key=f"example_{number}").click().run()
        assert not at.exception
        assert at.text_area(key="text").value == example.text
        assert at.query_params["text"] in (example.text, [example.text])
