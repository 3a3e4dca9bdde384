"""The first view: what a newcomer sees at the bare address, with numbers that equal torch, and the ways to begin."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, ViewportSize, expect
from torch.nn import functional as F

from attnviz import trained
from attnviz.formatting import percent
from attnviz.links.pages import OPENING
from attnviz.pretrained import load
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trained.model import examples
from attnviz.training.generation import Sampling, generate
from tests.browser.board import matrix
from tests.browser.settings import open_settings, surprise, type_text
from tests.browser.settle import settled, settled_at, settled_once_at
from tests.loaded import built_in_model
from tests.unit.bert.test_blank import saved

PHONE: ViewportSize = {"width": 390, "height": 844}
IT, BICYCLE = 11, 5

pytestmark = pytest.mark.page("one_page")


def doors(page: Page) -> Locator:
    return page.get_by_role("group", name="What this is")


def ask_for_help(page: Page) -> None:
    page.locator(".menu summary").click()
    page.get_by_role("button", name="What this is, and how to begin").click()


def finding(page: Page) -> Locator:
    return page.get_by_role("region", name="Sentence").locator(".finding")


def torchs_weights(layer: int, head: int) -> np.ndarray:
    """Compute a head's weights on the sentence by torch, from the model's queries and keys."""
    block = built_in_model().trace(OPENING["text"]).walk(layer, head).layer
    query, key = block.query[head][None], block.key[head][None]
    return F.scaled_dot_product_attention(query, key, torch.eye(key.shape[1])[None])[0].numpy()


def query(page: Page) -> dict[str, str]:
    return query_of(page.url)


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_a_newcomer_sees_what_this_is_and_every_way_to_begin_leads_on(page: Page, app_url: str) -> None:
    """The first test of this file: of a newcomer nothing is kept."""
    settled_at(page, app_url)
    expect(doors(page)).to_contain_text("attnviz shows what attention computes")
    expected = torchs_weights(3, 1)
    assert round(100 * float(expected[IT, BICYCLE])) == 97
    expect(finding(page)).to_have_text("“it” gives 97 % of its attention to “bicycle”.")

    doors(page).get_by_role("button", name="Play the walk").click()
    expect(doors(page)).to_be_hidden()
    bar = page.get_by_role("group", name="The walk that plays itself")
    expect(bar.get_by_role("status")).to_contain_text("“it” gives 97 % of its attention to “bicycle”.")
    assert page.url.rstrip("/") == app_url  # nothing is written while it plays
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    page.wait_for_url("**q=11&k=5**")  # the pair that it spoke of stays pinned
    expect(doors(page)).to_be_hidden()
    settled(page)
    for step, title in (("qkv", "Q, K, V"), ("embeddings", "Hidden states")):
        page.get_by_role("radio", name=title, exact=True).click()
        page.wait_for_url(f"**step={step}**")
    assert query(page) == {**OPENING, "step": "embeddings", "k": "5"}
    copied = page.url

    for step in ("step=qkv", "step=tokens", ""):
        page.go_back()
        settled_once_at(page, f"{app_url}/**{step}**")
    assert page.url.rstrip("/") == app_url
    expect(doors(page)).to_be_visible()
    expect(finding(page)).to_contain_text("97 %")
    settled_at(page, copied)
    expect(page.get_by_role("radio", name="Hidden states")).to_be_checked()
    expect(doors(page)).to_be_hidden()
    assert page.url == copied
    settled_at(page, app_url)

    doors(page).get_by_role("button", name="Your own sentence").click()
    expect(page.locator(".st-key-text textarea")).to_be_focused()
    page.keyboard.type("one two three")  # in place of the sentence, which is selected
    page.keyboard.press("Enter")
    settled_once_at(page, "**text=one+two+three**")
    expect(doors(page)).to_be_hidden()
    assert query(page)["source"] == "pretrained"
    words = page.get_by_role("region", name="Sentence").get_by_role("button", name=re.compile("^(one|two|three): "))
    expect(words).to_have_count(3)

    ask_for_help(page)
    expect(doors(page)).to_be_visible()
    doors(page).get_by_role("link", name="Start a lesson").click()
    settled_once_at(page, "**/lessons*")
    expect(page.get_by_role("link", name="What attention computes")).to_be_visible()
    page.go_back()
    page.wait_for_url("**text=one+two+three**")


def test_the_finding_unfolds_into_its_row_and_then_into_the_whole_matrix(page: Page, app_url: str) -> None:
    expected = torchs_weights(3, 1)
    sentence = settled_at(page, app_url).get_by_role("region", name="Sentence")
    sentence.get_by_role("button", name="How is 97 % computed?").click()
    rows = sentence.locator("tbody tr").evaluate_all(
        "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    labels = built_in_model().trace(OPENING["text"]).tokens.labels
    order = expected[IT].argsort()[::-1][:6]
    assert [row[0] for row in rows[:6]] == [labels[at] for at in order]
    assert [row[-1] for row in rows[:6]] == [f"{expected[IT, at]:.4f}" for at in order]
    assert [row[0] for row in rows[6:]] == ["10 others", "sum"]
    assert rows[-1][-1] == "1.0000"
    sentence.get_by_role("button", name="The whole matrix").click()
    settled_once_at(page, "**step=weights**")
    np.testing.assert_allclose(matrix(page, "weights"), expected, atol=1e-5)
    panel = page.get_by_role("region", name="Arithmetic of one cell")
    expect(panel).to_contain_text(re.compile(rf"key 5 .bicycle.\s*{expected[IT, BICYCLE]:.4f}"))


def test_pointing_at_a_word_moves_the_arcs_and_a_click_keeps_it(page: Page, app_url: str) -> None:
    expected = torchs_weights(3, 1)
    labels = built_in_model().trace(OPENING["text"]).tokens.labels
    she = labels.index("she")
    sister = int(expected[she].argmax())
    says = f"“she” gives {100 * expected[she, sister]:.0f} % of its attention to “{labels[sister]}”."
    sentence = settled_at(page, app_url).get_by_role("region", name="Sentence")
    arcs = sentence.locator("path")
    before = arcs.evaluate_all("all => all.map((one) => one.getAttribute('d'))")
    word = sentence.get_by_role("button", name=re.compile("^she: sister"))
    word.hover()
    expect(finding(page)).to_have_text(says)
    assert arcs.evaluate_all("all => all.map((one) => one.getAttribute('d'))") != before
    expect(arcs).to_have_count(int((expected[she] >= 0.01).sum()))
    page.mouse.move(2, 2)
    expect(finding(page)).to_contain_text("“it” gives 97 %")
    word.click()
    page.wait_for_url(f"**q={she}**")
    page.mouse.move(2, 2)
    settled(page)
    expect(finding(page)).to_have_text(says)
    expect(word).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")  # to the next word
    expect(finding(page)).to_contain_text("“wanted” gives")
    page.keyboard.press("ArrowUp")
    page.wait_for_url(f"**q={she}**")
    expect(finding(settled(page))).to_have_text(says)
    page.keyboard.press("Escape")  # lets the row go
    page.wait_for_url(lambda url: "q=" not in url)


def test_another_text_forgets_the_row_that_was_pointed_at_and_a_guess_is_not_given_away(
    page: Page, app_url: str
) -> None:
    settled_at(page, f"{app_url}/?source=pretrained&step=tokens&q=1&text=one+two+three+four+five")
    page.get_by_role("region", name="Sentence").get_by_role("button", name=re.compile("^five: ")).focus()
    expect(finding(page)).to_contain_text("“five” gives")
    type_text(page, "one \U0001f600")
    settled_once_at(page, "**text=one+%F0**")
    weights = built_in_model().trace("one \U0001f600").attentions(0)[0][1]
    expect(finding(page)).to_have_text(re.compile(rf"^“one” gives {100 * float(weights.max()):.0f} % "))
    unknown = page.locator(".sentence .word.unknown")
    expect(unknown).to_have_attribute("title", "[UNK]: not in the vocabulary")
    expect(unknown.locator("bdi")).to_have_css("outline-style", "dashed")
    expect(unknown).not_to_have_css("outline-style", "dashed")  # it would cross the word's share
    settled_at(page, f"{app_url}/?source=pretrained&step=tokens&q=1&predict=1")
    expect(finding(page)).to_have_text("Covered while a row is guessed.")
    expect(page.locator(".sentence .word, .sentence path")).to_have_count(0)


def test_words_of_one_text_look_at_those_of_another(page: Page, app_url: str) -> None:
    read = WordTokenizer().tokenize
    texts = ("the cat saw the dog run", "the dog was seen")
    trace = trace_transformer(read(texts[0]), read(texts[1]), TransformerConfig("both"))
    block = trace.walk_at(3, 0).layer  # after two of the encoder and one of the decoder: cross-attention
    query, key = block.query[0][None], block.key[0][None]
    row = F.scaled_dot_product_attention(query, key, torch.eye(key.shape[1])[None])[0][1]
    link = urlencode({"text": texts[0], "pair": texts[1], "architecture": "both", "block": 3, "part": "tokens", "q": 1})
    settled_at(page, f"{app_url}/transformer?{link}")
    most = int(row.argmax())
    said = f"“dog” gives {100 * float(row[most]):.0f} % of its attention to “{texts[0].split()[most]}”."
    expect(finding(page)).to_have_text(said)
    expect(page.locator(".sentence .line.key .share")).to_have_text([f"{100 * share:.0f} %" for share in row.tolist()])
    expect(page.locator(".sentence path")).to_have_count(6)


def test_arcs_cross_neither_words_nor_shares_where_the_sentence_has_several_lines(page: Page, app_url: str) -> None:
    """On a phone "it" stands a line below "bicycle"."""
    page.set_viewport_size(PHONE)
    settled_at(page, app_url)
    crossings = """arcs => {
      const texts = [...arcs[0].getRootNode().querySelectorAll('.word bdi, .share')].filter((t) => t.textContent);
      return arcs.flatMap((arc) => {
        const seen = arc.getScreenCTM();
        return Array.from({ length: 41 }, (_, n) => arc.getPointAtLength((n / 40) * arc.getTotalLength()))
          .map((at) => at.matrixTransform(seen))
          .flatMap(({ x, y }) => texts.filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < x && x < box.right && box.top + 2 < y && y < box.bottom - 2;
          }))
          .map((text) => text.textContent);
      });
    }"""
    arcs = page.locator(".sentence path")
    expect(arcs).to_have_count(2)
    lines = page.locator(".sentence .word bdi").evaluate_all("all => all.map((one) => one.getBoundingClientRect().y)")
    assert lines[IT] > lines[BICYCLE] + 20
    assert arcs.evaluate_all(crossings) == []


def test_added_tokens_are_told_apart_and_can_be_dimmed(page: Page, app_url: str) -> None:
    expected = torchs_weights(3, 1)
    sentence = settled_at(page, app_url).get_by_role("region", name="Sentence")
    share = 100 * float(expected[IT, [0, -1]].sum())
    expect(sentence).to_contain_text(f"[CLS] and [SEP], which stand for no word, get {share:.0f} %.")
    arcs = sentence.locator("path")
    expect(arcs).to_have_count(int((expected[IT] >= 0.01).sum()))
    sentence.get_by_role("button", name="Dim them").click()
    expect(arcs).to_have_count(int((expected[IT, 1:-1] >= 0.01).sum()))
    expect(finding(page)).to_contain_text("97 %")  # a share of the whole row, as before

    page.wait_for_url("**dim=1**")
    dimmed = page.url
    settled_at(page, app_url)
    expect(arcs).to_have_count(int((expected[IT] >= 0.01).sum()))
    settled_at(page, dimmed)  # the link shows the same
    expect(sentence.get_by_role("button", name="Dim them", pressed=True)).to_be_visible()
    expect(arcs).to_have_count(int((expected[IT, 1:-1] >= 0.01).sum()))
    sentence.get_by_role("button", name="Dim them").click()
    expect(arcs).to_have_count(int((expected[IT] >= 0.01).sum()))
    page.wait_for_url(lambda url: "dim" not in url)


def test_the_pinned_word_is_hidden_from_a_model_with_a_head_which_guesses_it(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    folder = saved("bert", tmp_path / "bert")
    text = "The cat sat on the mat."
    link = urlencode({"text": text, "source": "pretrained", "model": str(folder), "step": "tokens"})
    page.goto(f"{app_url}/?{link}")
    sentence = settled(page).get_by_role("region", name="Sentence")
    expect(sentence.get_by_role("button", name=re.compile("^Hide "))).to_have_count(0)  # no word is pinned
    sentence.get_by_role("button", name=re.compile("^sat: ")).click()
    sentence.get_by_role("button", name="Hide “sat”, to be guessed").press("Enter")
    guesses = sentence.get_by_text("The model’s guesses for [MASK]:").locator("xpath=..")
    expect(guesses).to_be_visible()
    page.wait_for_url("**q=3**blank_at=3**")
    trace = load(str(folder)).trace(text.replace("sat", "[MASK]"))
    (of,), last = trace.guesses("encoder"), trace.last_hidden_state[3]
    expect(guesses).to_contain_text(of.labels[0])
    expect(finding(page)).to_contain_text("“[MASK]” gives")

    expect(sentence.get_by_role("link", name="The rank of “sat”")).to_have_attribute("href", re.compile("/bert.*t=3$"))
    sentence.get_by_role("button", name="Show “sat” again").click()
    expect(guesses).to_have_count(0)
    expect(sentence.get_by_role("button", name=re.compile("^sat: "))).to_be_visible()
    page.wait_for_url(lambda url: "blank_at" not in url)
    page.go_back()
    expect(guesses).to_contain_text(of.labels[0])
    page.get_by_role("radio", name="Output", exact=True).click()
    page.wait_for_url("**step=output**")
    end = page.locator(".end")
    expect(end).to_contain_text(f"The model’s guesses for [MASK]:{of.labels[0]}")
    end.get_by_text("Row 3 “[MASK]” through the layers").click()
    states = end.locator("tr")
    expect(states).to_have_count(3)
    expect(states.nth(0)).to_contain_text("X")
    expect(states.nth(1)).to_have_class("here")
    expect(states.nth(2)).to_contain_text(f"after layer 1{float(last.norm()):.2f}{of.labels[0]}")
    end.get_by_role("link", name="How the whole model gets there").click()
    settled_once_at(page, "**/transformer?**part=probabilities**")
    assert query(page)["text"] == text.replace("sat", "[MASK]")
    assert query(page)["q"] == "3"
    np.testing.assert_allclose(matrix(page, "probabilities")[3, 0], of.shares[0], rtol=1e-3)
    page.go_back()
    page.wait_for_url("**step=output**")
    expect(end).to_contain_text(of.labels[0])
    note = page.get_by_text("The model does not read “sat”: [MASK] stands there.")
    note.get_by_role("button", name="Show “sat” again").click()
    expect(note).to_have_count(0)
    page.wait_for_url(lambda url: "blank_at" not in url)


def test_each_step_after_the_output_is_a_link_to_its_numbers_on_the_page_of_the_whole_model(
    page: Page, app_url: str
) -> None:
    text = OPENING["text"]
    link = {"text": text, "source": "pretrained", "layer": "4", "head": "3", "q": str(IT), "step": "output"}
    page.goto(f"{app_url}/?{urlencode(link)}")
    following = settled(page).get_by_role("navigation").filter(has_text="Then: ")
    in_block = "Add (attention) → Norm (attention) → Hidden → Feed-forward → Add (feed-forward) → Norm (feed-forward)"
    expect(following).to_have_text(f"Then: {in_block} → layer 5")
    following.get_by_role("link", name="Norm (feed-forward)").click()
    settled_once_at(page, "**/transformer?**part=block_output**")
    assert query(page).items() >= {"text": text, "block": "4", "q": str(IT)}.items()
    expected = built_in_model().trace(text).layer(5).query_input
    assert expected is not None
    np.testing.assert_allclose(matrix(page, "block_output")[IT], expected[IT], rtol=1e-3, atol=1e-4)
    page.go_back()
    after = query_of(following.get_by_role("link", name="layer 5").get_attribute("href") or "")
    assert (after["block"], after.get("part", "embeddings"), after["q"]) == ("5", "embeddings", str(IT))
    page.goto(f"{app_url}/?{urlencode({**link, 'layer': '5'})}")
    expect(following).to_contain_text(f"{in_block} → ")
    expect(following).to_contain_text(" → Logits → Softmax")


def test_the_story_gpt_is_chosen_and_writes_on_until_it_is_stopped(page: Page, app_url: str) -> None:
    stories = trained.load("stories")
    text = examples(stories)[0]
    ids = list(stories.read(text)[0].ids)
    draws = list(generate(stories.module, ids, 60, Sampling()))
    words = [stories.labels[draw.id] for draw in draws]
    written = re.sub(r" ([.,?])", r"\1", "".join(f" {word}" for word in words))
    head = stories.card.heads["refers"]
    share = float(stories.trace(text).attentions(head.layer)[head.head, -1].max())
    sentence = settled_at(page, app_url).get_by_role("region", name="Sentence")
    models = doors(page).get_by_role("group", name="Models to begin with")
    expect(models.get_by_role("button", name="MiniLM, a BERT", pressed=True)).to_be_visible()
    models.get_by_role("button", name="Story GPT").click()
    expect(models.get_by_role("button", name="Story GPT", pressed=True)).to_be_visible()
    expect(finding(page)).to_have_text(f"“It” gives {percent(share)} of its attention to “rabbit”.")
    expect(doors(page)).to_contain_text("in a small GPT that writes stories, word by word.")
    guesses = sentence.locator(".guesses")
    likeliest = stories.labels[int(draws[0].order[0])]
    expect(guesses).to_contain_text(f"after “It”:{likeliest} {100 * float(draws[0].probabilities.max()):.0f} %")

    sentence.get_by_role("button", name="Write on").press("Enter")
    new = sentence.locator(".word.written")
    expect(new.nth(2)).to_be_visible()
    expect(sentence.get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: len(query_of(url)["text"]) > len(text))
    whole = query(page)["text"]
    assert (text + written).startswith(whole)
    expect(new).to_have_count(0)
    count = len(stories.read(whole)[0])
    expect(sentence.locator(".word")).to_have_count(count)
    assert query(page)["q"] == str(count - 1)
    expect(page.locator(".st-key-text textarea")).to_have_value(whole)
    expect(doors(page)).to_be_hidden()
    page.go_back()
    expect(sentence.locator(".word")).to_have_count(len(ids))
    page.go_back()
    page.wait_for_url(lambda url: url.rstrip("/") == app_url)
    expect(finding(page)).to_contain_text("97 %")


def test_a_share_that_is_wider_than_its_character_stays_beside_the_words(page: Page, app_url: str) -> None:
    link = urlencode({"source": "trained", "step": "tokens", "q": "20", "model": "chargpt"})
    sentence = settled_at(page, f"{app_url}/?{link}").get_by_role("region", name="Sentence")
    sentence.get_by_role("button", name=re.compile("^o: T .*99")).first.hover()  # its share is wider than “T”
    expect(finding(page)).to_contain_text("“T”")
    left = "(all) => all[0].getBoundingClientRect().x"
    assert sentence.locator(".share").evaluate_all(left) >= sentence.locator(".words").evaluate_all(left)


def test_guesses_that_take_many_logits_come_where_they_are_shown(page: Page, app_url: str) -> None:
    masked = f"the {' '.join(['[MASK]'] * 40)}"
    link = urlencode({"source": "pretrained", "text": masked, "step": "weights", "q": "30"})
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "~guesses" in request.url else None)
    page.goto(f"{app_url}/?{link}")
    settled(page)
    assert fetched == []
    page.get_by_role("radio", name="Sentence", exact=True).click()
    sentence = page.get_by_role("region", name="Sentence")
    expect(sentence.locator(".guesses")).to_contain_text("(position 30)")
    expect(sentence.locator(".caveat")).to_contain_text("attnviz trained its language head")
    page.get_by_role("radio", name="Output", exact=True).click()
    expect(page.locator(".end .guesses")).to_contain_text("(position 30)")
    assert len(fetched) == 1


def test_under_reduced_motion_all_is_written_at_once(page: Page, app_url: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    link = urlencode({"text": "a" * 125, "source": "trained", "model": "chargpt", "step": "tokens"})
    page.goto(f"{app_url}/?{link}")
    sentence = settled(page).get_by_role("region", name="Sentence")
    sentence.get_by_role("button", name="Write on").click()
    page.wait_for_url(lambda url: len(query_of(url)["text"]) == 128)
    expect(sentence.locator(".word")).to_have_count(128)
    expect(sentence.get_by_role("button", name="Write on")).to_have_count(0)
    expect(sentence.locator(".writing")).to_have_text(
        "The text fills all that the model can read, 128 tokens, so it writes no more."
    )


def test_what_a_newcomer_reads_goes_away_by_any_change_and_on_a_phone_the_picture_stays_in_sight(
    page: Page, app_url: str
) -> None:
    settled_at(page, app_url)
    expect(doors(page)).to_be_visible()
    box = page.get_by_role("button", name="How is 97 % computed?").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 720
    ask_for_help(page)
    expect(doors(page)).to_be_hidden()
    ask_for_help(page)
    expect(doors(page)).to_be_visible()
    page.get_by_role("button", name="head 4").click()
    expect(doors(page)).to_be_hidden()
    page.get_by_role("button", name="head 1", exact=True).click()
    page.wait_for_function("() => location.search === ''")  # it is the same view again
    expect(doors(page)).to_be_hidden()
    open_settings(page).get_by_role("radio", name="Toy").click()
    settled_once_at(page, lambda url: "text=My+sister" in url and "source" not in url)
    expect(page.get_by_text("have learned nothing").first).to_be_visible()
    page.get_by_role("button", name="Settings", exact=True).click()
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")

    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    settled_at(page, app_url)
    expect(doors(page)).to_be_visible()
    place = page.locator(".sentence .words").bounding_box()
    assert place is not None
    assert place["y"] < 0.75 * PHONE["height"]
    over = "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth }"
    assert page.evaluate(over) <= 0
    doors(page).get_by_role("button", name="Your own sentence").click()
    expect(page.locator(".st-key-text textarea")).to_be_focused()
    expect(page.locator(".st-key-text textarea")).to_be_in_viewport()


def test_that_a_story_has_ended_is_said_without_another_press(page: Page, app_url: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    stories = trained.load("stories")
    text = examples(stories)[0]
    ids = list(stories.read(text)[0].ids)
    words = [stories.labels[draw.id] for draw in generate(stories.module, ids, 60, Sampling())]
    count = words.index("<end>")
    link = urlencode({"text": text, "source": "trained", "model": "stories", "step": "tokens"})
    page.goto(f"{app_url}/?{link}")
    sentence = settled(page).get_by_role("region", name="Sentence")
    sentence.get_by_role("button", name="Write on").click()
    page.wait_for_url(lambda url: len(query_of(url)["text"]) > len(text))
    expect(sentence.locator(".word")).to_have_count(len(ids) + count)
    expect(sentence.locator(".word.written")).to_have_count(0)
    expect(sentence.locator(".writing")).to_have_text(
        "The text ends here: the model draws <end> next, its token for the end of a text."
    )


def test_the_address_of_an_empty_text_opens_the_same_model_elsewhere(page: Page, app_url: str) -> None:
    settled_at(page, app_url)
    page.get_by_role("textbox", name="Text", exact=True).fill("")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_text("Type a sentence")).to_be_visible()
    settled(page)
    said = {name: OPENING[name] for name in ("source", "layer", "head", "step")}
    assert query(page).items() >= said.items()
    empty = page.url
    settled_at(page, f"{app_url}/?source=toy&text=another&step=qkv")
    settled_at(page, empty)
    type_text(page, "The cat sat.")
    settled(page)
    assert query(page).items() >= {**said, "text": "The cat sat."}.items()


def test_surprise_shows_the_number_that_torch_computes(page: Page, app_url: str) -> None:
    settled_at(page, app_url)
    type_text(page, OPENING["text"])
    settled(page)
    trace = built_in_model().trace(OPENING["text"])
    weights = torch.stack([trace.attentions(layer) for layer in range(6)])  # (L, H, T, T)
    seen = []
    for _ in range(2):
        surprise(page)
        settled(page)
        says = page.locator(".said").inner_text()
        layer, head, query, key, own, others = re.findall(
            r"Layer (\d), head (\d+): “(\w+)” looks at “(\w+)” with (0\.\d\d); .* mean is (0\.\d\d)", says
        )[0]
        rows = [at for at, label in enumerate(trace.tokens.labels) if label == query]
        cells = [(q, k) for q in rows for k, label in enumerate(trace.tokens.labels) if label == key]
        q, k = max(cells, key=lambda cell: float(weights[int(layer), int(head)][cell]))
        expected = float(weights[int(layer), int(head), q, k])
        mean = (float(weights[:, :, q, k].sum()) - expected) / 71
        assert (float(own), float(others)) == (pytest.approx(expected, abs=0.0051), pytest.approx(mean, abs=0.0051))
        sentence = page.get_by_role("region", name="Sentence")
        if not sentence.get_by_role("table").count():
            sentence.get_by_role("button", name="How is ").click()
        shown = sentence.get_by_role("row", name=re.compile(f"^{key} ")).locator("[data-result]").first
        assert float(shown.get_attribute("data-value") or "nan") == pytest.approx(expected, abs=1e-4)
        expect(page.locator(".strip [aria-pressed=true]")).to_have_text(head)
        seen.append((layer, head))
    assert seen[0] == ("3", "1")
    assert seen[1] != seen[0]
    page.get_by_role("radio", name="Weights").click()
    settled(page)
    (pinned,) = re.findall(r"[?&]q=(\d+)", page.url)
    expect(page.locator(".walk .fact")).to_contain_text(f"row {pinned}, ")
