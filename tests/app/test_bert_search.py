"""Search by meaning on /bert: it shows what its embeddings give, its text is in no link, and no input breaks it."""

from __future__ import annotations

import dataclasses
import json
import re
import time
from collections.abc import Iterator
from functools import cache

import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.bert.encoding import embed_sentences
from attnviz.bert.search import Index, built_in, token_similarity
from attnviz.links.bert import QUERY
from attnviz.settings import settings
from attnviz.ui.bert import search
from attnviz.ui.bert.search import NO_COMMON_WORD
from attnviz.ui.tokens import choices
from tests.app.pages import BAD_SELECTIONS, boxes, html, messages, open_page, select
from tests.loaded import built_in_model

PATIENCE = 120
HOSTILE = {
    "NUL": "\x00",
    "emoji": "🐶🐶🐶",
    "right to left": "\u202eمرحبا بالعالم",
    "unknown": "ꙮꙮꙮ",
    "long": "今" * 200,
    "dots": "…",
    "markup": "<script>alert(1)</script> $x$ [a](b) **c**",
}


def opened(**query: str) -> AppTest:
    return ready(open_page("bert", bert_part="search", **query))


def ready(at: AppTest) -> AppTest:
    """Wait until the text is embedded."""
    ends = time.monotonic() + PATIENCE
    while at.get("progress"):
        assert time.monotonic() < ends
        time.sleep(0.2)
        at.run()
    assert not at.exception
    return at


def paste(at: AppTest, pasted: str) -> AppTest:
    at.segmented_control(key="search_text_from").set_value("paste").run()
    at.text_area(key="search_text_pasted").set_value(pasted)
    next(one for one in at.button if one.label == "Search in this text").click().run()
    return ready(at)


def upload(at: AppTest, data: bytes) -> AppTest:
    at.segmented_control(key="search_text_from").set_value("upload").run()
    at.file_uploader(key="search_text_file").set_value(("mine.txt", data, "text/plain")).run()
    return ready(at)


def listed(at: AppTest, kind: str) -> list[str]:
    """Read the rows of a ranking as they are shown."""
    buttons = [one for one in at.button if (one.key or "").startswith(f"hit_{kind}_")]
    return [re.sub(r"\\(.)", r"\1", one.label).replace("\u2068", "").replace("\u2069", "") for one in buttons]


def said(at: AppTest) -> str:
    return " ".join(boxes(at, "markdown") + boxes(at, "caption")).replace("\u2068", "").replace("\u2069", "")


def figure(at: AppTest) -> dict:
    (chart,) = at.get("plotly_chart")
    return json.loads(chart.proto.spec)


@cache
def embedded() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the embeddings of the query and of the built-in sentences, which unit tests compare with transformers."""
    unit = embed_sentences([QUERY, *built_in().sentences], model=built_in_model())
    return unit[0], unit[1:]


def test_the_ranking_is_that_of_the_embeddings_and_a_click_chooses_a_sentence() -> None:
    at = opened()
    query, embeddings = embedded()
    cosine = embeddings @ query
    best = cosine.argsort(descending=True)[:6].tolist()
    rows = listed(at, "meaning")
    assert len(rows) == 6
    for rank, (row, place) in enumerate(zip(rows, best, strict=True), 1):
        shown, score, rest = row.split(" · ", 2)
        assert (shown, float(score)) == (f"**{rank}**", pytest.approx(float(cosine[place]), abs=6e-4))
        assert rest.startswith(built_in().sentences[place])
    assert "working days" in listed(at, "words")[0]
    assert built_in().sentences[best[0]] in said(at)
    at.button(key="hit_words_1").click().run()
    assert "working days" in said(at) and at.query_params["hit"] == "16"
    assert built_in().sentences[16] == "A visa takes ten working days, so apply early."
    assert at.button(key="hit_words_1").proto.type == "secondary"


def test_a_query_is_in_the_link_and_another_one_has_another_hit() -> None:
    at = opened(hit="3")
    at.text_input(key="find").set_value("a physician").run()
    assert "The doctor listened to his chest" in listed(at, "meaning")[0]
    assert listed(at, "words") and "find" in at.query_params and "hit" not in at.query_params
    at.text_input(key="find").set_value("zzz").run()
    assert listed(at, "words") == [] and NO_COMMON_WORD in said(at)
    at.text_input(key="find").set_value("  ").run()
    assert "Type what you are looking for" in messages(at) and not listed(at, "meaning")
    again = opened(find="a physician", hits="2")
    assert "The doctor listened" in listed(again, "meaning")[0] and len(listed(again, "meaning")) == 2


def test_the_tokens_of_query_and_hit_are_compared() -> None:
    at = opened(find_view="tokens")
    (cells,) = figure(at)["data"]
    query, embeddings = embedded()
    hit = built_in().sentences[int((embeddings @ query).argmax())]
    expected = token_similarity(built_in_model(), QUERY, hit).cosine
    torch.testing.assert_close(torch.tensor(cells["z"]), expected, rtol=0, atol=1e-5)
    assert "“software” of the query and “program” of the hit" in said(at)


def test_the_map_shows_the_share_of_variance_and_a_click_on_a_point_chooses_it() -> None:
    at = opened(find_view="map", hit="7")
    _, embeddings = embedded()
    centred = (embeddings - embeddings.mean(0)).double()
    share = torch.linalg.svdvals(centred).square()
    kept = 100 * float(share[:2].sum() / share.sum())
    assert f"keeps {kept:.1f} % of the variance" in html(at)
    numbers = [one for trace in figure(at)["data"] for one in trace.get("customdata") or []]
    assert sorted(numbers) == list(range(len(built_in())))
    assert "sentence 7 of the text" in said(at)
    select(at, {"selection": {"points": [{"customdata": 9}]}})
    assert "sentence 9 of the text" in said(at)
    for message in BAD_SELECTIONS:
        select(at, message)
        assert not at.exception and not at.error
        assert "sentence 9 of the text" in said(at)


@pytest.mark.parametrize("view", ["ranking", "tokens", "map"])
def test_any_query_is_answered_and_any_text_searched(view: str) -> None:
    at = opened(find_view=view)
    for name, query in HOSTILE.items():
        at.text_input(key="find").set_value(query).run()
        assert not at.exception and not at.error, name
    for pasted in ("Hello", "\u202eمرحبا.\x00 Ok.\n🐶🐶\n<b>x</b>", "x" * 3000, "One. One. One."):
        paste(at, pasted)
        assert not at.exception and not at.error, pasted
        assert "Your text is in no link" in said(at)
        link = " ".join(map(str, at.query_params.values()))
        assert "Hello" not in link and "xxx" not in link


def test_a_text_without_a_sentence_is_refused_in_a_sentence() -> None:
    for pasted in ("", " \n ", "…\n---"):
        at = paste(opened(), pasted)
        assert boxes(at, "error") == ["There is no sentence in this text: it has no letter, digit or symbol."], pasted
        assert "Until then, the built-in sentences are searched." in said(at)
        assert len(listed(at, "meaning")) == 6


def test_an_uploaded_file_is_searched_and_dropped_again() -> None:
    at = upload(opened(), "Der Hund bellt.\nDie Software läuft nicht mehr.".encode())
    assert "Die Software läuft nicht mehr." in listed(at, "meaning")[0] and "2 sentences." in said(at)
    at.segmented_control(key="search_text_from").set_value("built_in").run()
    assert "180 sentences." in said(ready(at))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "this one is empty."),
        (b"a\0b", "this one holds NUL bytes, so it is not text."),
        ("Ä".encode("latin-1"), "which is not UTF-8: save it as UTF-8."),
        ("Hallo".encode("utf-16"), "this one is UTF-16: save it as UTF-8."),
        (b"a" * (2**20 + 1), "A text to search in is UTF-8 text of up to 1 MB; this one has 1 byte more."),
    ],
)
def test_a_file_that_is_no_text_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    at = upload(opened(), data)
    (said_,) = boxes(at, "error")
    assert why in said_
    assert len(listed(at, "meaning")) == 6


def test_where_uploads_are_switched_off_none_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dataclasses.replace(settings(), uploads=False, largest_text=100)
    for module in (search, choices):
        monkeypatch.setattr(module, "settings", lambda: few)
    at = opened()
    assert at.segmented_control(key="search_text_from").options == ["Built in", "Paste"]
    paste(at, "Word. " * 300)
    assert "84 sentences." in said(at)  # of the first 500 characters


def test_a_hit_that_is_not_there_is_reset_with_a_note() -> None:
    at = opened(hit="180")
    assert "Sentence 180 does not exist: they go from 0 to 179." in messages(at)
    assert "The program crashed" in said(at)


def test_a_long_text_shows_its_progress_until_it_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATIENCE", 0.0)
    at = opened()
    at.segmented_control(key="search_text_from").set_value("paste").run()
    at.text_area(key="search_text_pasted").set_value("\n".join(f"Line {n} of a text." for n in range(400)))
    next(one for one in at.button if one.label == "Search in this text").click().run()
    (bar,) = at.get("progress")
    assert "of 400 sentences" in bar.proto.text or "400 sentences are being read" in bar.proto.text
    assert "Line" in listed(ready(at), "meaning")[0]


def test_too_little_memory_is_told_in_a_sentence_and_another_text_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Iterator[int | Index]:
        yield 0
        raise MemoryError

    at = opened()
    with monkeypatch.context() as patch:
        patch.setattr(search, "build", fails)
        paste(at, "One sentence.\nAnother one.")
        assert [box.value for box in at.error] == [search.FAILED]
        assert not at.get("progress")
    paste(at, "A third sentence.\nThe last one.")
    assert not at.error and len(listed(at, "meaning")) == 2


def test_what_fails_while_its_progress_is_shown_is_told_and_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def fails(*_: object) -> Iterator[int | Index]:
        begun.append(1)
        yield 0
        time.sleep(1)
        raise MemoryError

    at = opened()
    monkeypatch.setattr(search, "build", fails)
    monkeypatch.setattr(search, "PATIENCE", 0.01)
    paste(at, "One sentence.\nA fourth one.")
    time.sleep(1.2)
    for _ in range(3):
        at.run()
        assert [box.value for box in at.error] == [search.FAILED] and not at.get("progress")
    assert begun == [1]


def test_tables_and_script_are_of_what_is_shown() -> None:
    at = opened(find="a physician")
    seen = {}

    def keep() -> None:
        seen.update(search.tables(), script=search.script())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_show_hit", lambda _: keep())
        at.run()
    ranking = seen["ranking"]
    assert len(ranking) == 180 and ranking["sentence"].iloc[0].startswith("The doctor listened")
    assert ranking["cosine"].is_monotonic_decreasing
    assert ranking["rank by words"].isna().sum() == (ranking["BM25"] == 0).sum()
    assert list(seen["map"].index[-2:]) == ["179", "query"] and seen["map"]["sentence"].iloc[-1] == "a physician"
    compile(seen["script"], "search.py", "exec")
    assert "'a physician'" in seen["script"]


@pytest.mark.parametrize("view", ["ranking", "tokens", "map"])
def test_a_lecture_has_the_query_and_no_side_bar_text(view: str) -> None:
    at = opened(find_view=view, lecture="1")
    assert at.text_input(key="find").value == QUERY and not at.exception
