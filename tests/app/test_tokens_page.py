"""The Tokens page, run by Streamlit's own test harness: what it says about a text."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.ui import FRAME
from attnviz.ui.state import record_key
from attnviz.ui.tokens.choices import CharsetRecord

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def at() -> AppTest:
    return AppTest.from_file(str(FRAME), default_timeout=60)


def open_tokens(at: AppTest, **query: str) -> AppTest:
    """Open the page with a link's query."""
    at.switch_page("../../pages/tokens.py")
    at.query_params.update(query)
    at.run()
    assert not at.exception
    return at


def html(at: AppTest) -> str:
    return "\n".join(element.proto.body for element in at.get("html"))


def sizes(at: AppTest) -> list[str]:
    """Return what the cards say of their sizes: characters, words, BERT."""
    return [unescape(size) for size in re.findall(r"<small>(.*?)</small>", html(at))]


def rates(at: AppTest) -> list[str]:
    """Return what the cards say of characters per token: words, BERT."""
    return [unescape(rate) for rate in re.findall(r'<small class="rate">(.*?)</small>', html(at))]


def strips(at: AppTest) -> list[list[str]]:
    """Return the pieces of each strip of chips, the three cards' first."""
    bodies = [
        element.proto.body for element in at.get("html") if '<div class="tv-strip tv-scroll"' in element.proto.body
    ]
    return [[unescape(p) for p in re.findall(r'class="tv-piece" dir="auto">([^<]*)', body)] for body in bodies]


def captions(at: AppTest) -> str:
    return "\n".join(caption.value for caption in at.caption)


def test_three_tokenizers_side_by_side(at: AppTest) -> None:
    open_tokens(at, text="Hello worlds")
    assert sizes(at) == [
        "12 tokens · vocabulary of 65",
        "2 tokens · vocabulary of 20,000",
        "4 tokens · vocabulary of 30,522",
    ]
    assert rates(at) == [
        "6.0 characters per token",
        "6.0 characters per token; at that rate 512 tokens are 3,072 characters",
    ]
    assert strips(at) == [list("Hello␣worlds"), ["Hello", "worlds"], ["[CLS]", "hello", "worlds", "[SEP]"]]
    assert html(at).count("✓ ids → text: the same") == 2
    assert "BERT&#x27;s tokenizer lower-cases the text." in html(at)


def test_the_first_text_has_tokens(at: AppTest) -> None:
    open_tokens(at)
    assert [size.split(" ·")[0] for size in sizes(at)] == ["65 tokens", "13 tokens", "16 tokens"]
    assert dict(at.query_params) == {}


@pytest.mark.parametrize("text", ["", "   ", " \n\t"], ids=ascii)
def test_no_text_gives_a_hint(at: AppTest, text: str) -> None:
    open_tokens(at, text=text)
    assert len(at.info) == 1
    assert strips(at) == []


def test_typing_changes_the_tokens_and_the_link(at: AppTest) -> None:
    open_tokens(at)
    at.text_area(key="text").set_value("to be").run()
    assert strips(at)[1] == ["to", "be"]
    assert at.query_params["text"] == "to be"


def test_a_second_sentence_is_for_bert(at: AppTest) -> None:
    open_tokens(at, text="one", pair="Two")
    assert strips(at)[1:] == [["one"], ["[CLS]", "one", "[SEP]", "two", "[SEP]"]]
    assert html(at).count("✓ ids → text: the same") == 3
    assert "≠ ids → second sentence: not the same" in html(at)
    assert "segment 1" in captions(at)


def test_unknown_characters_are_named_and_the_rest_goes_on(at: AppTest) -> None:
    open_tokens(at, text="A nice café")
    assert "not in the vocabulary: &#x27;é&#x27; (U+00E9) at position 10" in html(at)
    assert strips(at)[0] == list("A␣nice␣café")


def test_the_texts_own_characters_know_it_all(at: AppTest) -> None:
    open_tokens(at, text="café", charset="text")
    assert sizes(at)[0] == "4 tokens · vocabulary of 4"
    assert "not in the vocabulary" not in html(at)
    at.selectbox(key="charset").set_value("shakespeare").run()
    assert sizes(at)[0] == "4 tokens · vocabulary of 65"
    assert "not in the vocabulary" in html(at)


def upload(at: AppTest, data: bytes, name: str = "mine.txt") -> AppTest:
    at.file_uploader(key="charset_file").set_value((name, data, "text/plain")).run()
    assert not at.exception
    return at


def test_an_uploaded_file_is_the_vocabulary(at: AppTest) -> None:
    open_tokens(at, text="abc", charset="file")
    assert "Until you upload a file, Shakespeare's 65 characters are used." in captions(at)
    upload(at, "ab é\n".encode())
    assert sizes(at)[0] == "3 tokens · vocabulary of 5"
    assert "not in the vocabulary: &#x27;c&#x27;" in html(at)
    assert "the 5 different characters of your file" in captions(at)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x00\x01", "NUL bytes"),
        ("é".encode("latin-1"), "not UTF-8"),
        (b"", "is empty"),
        ("a".encode("utf-16"), "UTF-16"),
    ],
    ids=["binary", "latin-1", "empty", "utf-16"],
)
def test_a_bad_file_is_refused_and_the_page_goes_on(at: AppTest, data: bytes, why: str) -> None:
    upload(open_tokens(at, charset="file"), data)
    assert [why in error.value and "up to 5 MB" in error.value for error in at.error] == [True]
    assert sizes(at)[0] == "60 tokens · vocabulary of 65"
    upload(at, b"good")
    assert len(at.error) == 0
    assert sizes(at)[0] == "60 tokens · vocabulary of 3"


def test_an_uploaded_vocabulary_survives_a_change_of_page(at: AppTest) -> None:
    upload(open_tokens(at, text="abc", charset="file"), b"ab")
    at.switch_page("../../pages/step_by_step.py").run()
    at.run()
    at.switch_page("../../pages/tokens.py").run()
    assert at.selectbox(key="charset").value == "file"
    assert sizes(at)[0] == "3 tokens · vocabulary of 2"


def test_tokens_past_berts_limit_are_counted(at: AppTest) -> None:
    open_tokens(at, text="a " * 600)
    assert sizes(at)[2] == "512 tokens · vocabulary of 30,522"
    assert [warning.value for warning in at.warning] == ["BERT takes 512 tokens: 90 tokens past that were dropped."]


def test_a_long_text_shows_its_first_chips(at: AppTest) -> None:
    open_tokens(at, text="ab cd " * 3333)
    assert [len(strip) for strip in strips(at)] == [600, 600, 512]
    assert "… and 19,398 more, not shown" in html(at)
    assert "… and 6,066 more, not shown" in html(at)


def test_training_pairs_of_the_chosen_tokenizer(at: AppTest) -> None:
    open_tokens(at, text="to be or not to be", tokenizer="word", block_size="3")
    pairs = next(element.proto.body for element in at.get("html") if '<div class="tv-pairs">' in element.proto.body)
    assert " ".join(re.findall(r'class="tv-piece" dir="auto">(\w+)', pairs)) == "to be to be or to be or not"
    assert "a block of 4 tokens out of a text and learns 3 pairs" in captions(at)
    at.slider(key="block_size").set_value(64).run()
    assert "learns 5 pairs" in captions(at)
    assert "so its block is shorter than 64" in captions(at)


def test_one_token_has_no_pair(at: AppTest) -> None:
    open_tokens(at, text="to", tokenizer="word")
    assert [info.value for info in at.info] == ["One token has no next token. Type a longer text."]


def test_bert_and_unknown_characters_say_how_they_train(at: AppTest) -> None:
    open_tokens(at, text="é b", tokenizer="bert")
    assert "it guesses words that were masked" in captions(at)
    at.segmented_control(key="tokenizer").set_value("char").run()
    assert "A character without an id can't be trained on" in captions(at)


def open_vocabulary(at: AppTest, **query: str) -> AppTest:
    """Open the page with its second tab chosen, as a click on it would."""
    at.session_state["tokens_tab"] = "Vocabulary"
    return open_tokens(at, **query)


@pytest.mark.parametrize(("tokenizer", "rows"), [("char", 65), ("word", 11), ("bert", 30_522)])
def test_the_whole_vocabulary_can_be_browsed(at: AppTest, tokenizer: str, rows: int) -> None:
    open_vocabulary(at, tokenizer=tokenizer)
    assert len(at.dataframe[0].value) == rows
    assert f"All {rows:,} entries." in captions(at)


def test_the_vocabulary_can_be_searched(at: AppTest) -> None:
    open_vocabulary(at, tokenizer="bert")
    at.text_input(key="vocabulary_search").set_value("attention").run()
    assert at.dataframe[0].value["piece"].to_list() == ["attention"]
    assert "1 entry found, of 30,522." in captions(at)


def test_words_that_share_an_id_are_reported(at: AppTest) -> None:
    open_vocabulary(at, tokenizer="word", text="aje <b> abq")
    assert "Collision: aje and abq share the id 9345." in html(at)


def test_hostile_text_is_escaped(at: AppTest) -> None:
    open_tokens(at, text="<script>alert(1)</script>", pair="<img src=x onerror=alert(1)>")
    assert "<script" not in html(at)
    assert "<img" not in html(at)
    assert "&lt;script&gt;" in html(at)


@pytest.mark.parametrize("text", ["a\0b", "مرحبا", "👩\u200d👩\u200d👧", "e\u0301", "\u202eabc", "w" * 300], ids=ascii)
def test_any_text_is_shown(at: AppTest, text: str) -> None:
    open_tokens(at, text=text, charset="text")
    assert sizes(at)[0].startswith(f"{len(text)} tokens · vocabulary of {len(set(text))}")


def test_a_link_with_nonsense_falls_back_with_a_note(at: AppTest) -> None:
    open_tokens(at, text="to be", tokenizer="morse", block_size="1000", charset="klingon")
    assert at.segmented_control(key="tokenizer").value == "word"
    assert (at.slider(key="block_size").value, at.selectbox(key="charset").value) == (8, "shakespeare")
    notes = " ".join(warning.value for warning in at.warning).replace("\\", "")  # which keep Markdown out
    assert all(name in notes for name in ("tokenizer=morse", "block_size=1000", "charset=klingon"))


def test_a_session_keeps_why_a_file_was_refused_not_the_exception(at: AppTest) -> None:
    """An exception would keep the frames that it went through, and the file with them."""
    upload(open_tokens(at, charset="file"), b"\0" * 100)
    refused = at.session_state[record_key(CharsetRecord)].refused
    assert isinstance(refused, str)
    assert refused
