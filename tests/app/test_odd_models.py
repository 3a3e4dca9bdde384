"""Step by step with models that are not there, that give no token, or that are gone over to by hand."""

from __future__ import annotations

import time
import weakref
from pathlib import Path

import pytest

from attnviz.pretrained import opening
from attnviz.settings import Settings
from attnviz.ui import caches, sources
from attnviz.ui.state import ViewRecord, record_key
from tests.app.pages import boxes, choose, open_page
from tests.app.walking import of_head, step_of, walk
from tests.unit.families import drop_special_tokens, save

DROPPED = "\u200b"
"""No white space, so not empty; but BERT's normaliser removes it."""


@pytest.mark.parametrize(
    ("family", "texts"),
    [
        ("bert", {"text": DROPPED}),
        ("llama", {"text": f"{DROPPED} \u00ad"}),
        ("bart", {"text": DROPPED, "pair": "hello"}),
        ("bart", {"text": "hello", "pair": DROPPED, "kind": "decoder"}),
    ],
)
def test_a_text_that_gives_no_token_gives_a_hint(tmp_path: Path, family: str, texts: dict[str, str]) -> None:
    folder = drop_special_tokens(save(family, tmp_path / family))
    for step in ("tokens", "weights", "output"):
        at = open_page(source="pretrained", model=str(folder), step=step, **texts)
        assert boxes(at, "info") == [
            "The tokenizer drops every character of this text, so there is no token. Type another text."
        ]
        assert at.query_params["step"] == step
    at.text_area(key="text").set_value("hello there").run()
    at.text_input(key="pair").set_value("hello").run()
    assert not at.exception
    assert not at.info


def test_a_decoders_empty_text_gives_a_hint_beside_the_encoder(tmp_path: Path) -> None:
    folder = drop_special_tokens(save("bart", tmp_path / "bart"))
    at = open_page(source="pretrained", model=str(folder), step="scores", text="hello", pair=DROPPED)
    assert len(at.info) == 1


def test_a_failed_load_is_cached_and_reported_on_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    knocks = []
    monkeypatch.setattr(opening, "_is_hub_reachable", lambda: bool(knocks.append(time.monotonic())))
    link = {"source": "pretrained", "model": "nobody/knows-this-model", "step": "weights"}
    expected = "nobody/knows-this-model is not on this machine and the hub can't be reached; connect, or use minilm."
    at = open_page(**link)
    for text in ("one", "two", "three"):
        assert boxes(at, "error") == [f"{expected} Showing MiniLM (a small BERT)."]
        at.text_area(key="text").set_value(text).run()
    assert boxes(open_page(**link), "error") == [f"{expected} Showing MiniLM (a small BERT)."]
    assert len(knocks) == 1


def test_without_any_model_the_page_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: str) -> None:
        raise opening.ModelError("The built-in model is not installed.")

    monkeypatch.setattr(caches, "model", nothing)
    monkeypatch.setattr(sources, "described", nothing)
    at = open_page(source="pretrained")
    assert boxes(at, "error") == ["The built-in model is not installed."]


def test_changing_the_model_in_the_menu_gives_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = str(save("gpt2", tmp_path / "decoder"))
    monkeypatch.setattr("attnviz.sources.models.settings", lambda: Settings(models=("minilm", decoder)))
    at = open_page(source="pretrained", model=decoder, layer="1", head="3", step="weights")
    assert at.session_state[record_key(ViewRecord)].view["kind"] == "decoder"
    at.selectbox(key="model").set_value("minilm").run()
    assert boxes(at, "warning") == []
    assert at.session_state[record_key(ViewRecord)].view["kind"] == "encoder"
    choose(at, "layer", 5)
    at.selectbox(key="model").set_value(decoder).run()
    assert boxes(at, "warning") == []
    assert at.session_state[record_key(ViewRecord)].view["layer"] == 0


def test_a_link_to_a_missing_layer_or_head_gives_a_warning() -> None:
    at = open_page(source="pretrained", kind="decoder", layer="7", step="weights")
    warnings = " ".join(boxes(at, "warning"))
    assert "This model has no decoder attention." in warnings
    assert "Layer 7 does not exist" in warnings


def test_a_model_is_evicted_while_a_session_shows_it(tmp_path: Path) -> None:
    folders = [str(save("bert", tmp_path / name)) for name in "abc"]
    at = open_page(source="pretrained", model=folders[0], step="weights")
    first = caches.model(folders[0])
    last_hidden = caches.trace(first, "hello", None).last_hidden_state
    model, trace = weakref.ref(first), weakref.ref(last_hidden)
    del first, last_hidden
    for folder in folders[1:]:
        caches.model(folder)
    assert (model(), trace()) == (None, None)
    choose(at, "step", "head_outputs")  # and comes back for the session that still shows it
    assert not at.exception
    assert not at.error


def test_the_tokens_say_which_characters_they_stand_for() -> None:
    _, document = walk(open_page(text="Tokenization b", tokenizer="bert", step="tokens"))
    tokens = document.header.query
    assert tokens.places == ("", "0 to 4", "5 to 11", "13", "")
    assert tokens.covers == ("", "Token", "ization", "b", "")


def test_a_character_without_an_id_has_none() -> None:
    at = open_page(text="naïve", tokenizer="char", step="tokens")
    header, document = walk(at)
    tokens = document.header.query
    assert tokens.ids == (52, 39, -1, 60, 43)
    assert tokens.unknown == (False, False, True, False, False)
    assert "not in the vocabulary has no id" in of_head(step_of(header, document).fact, header, document)
    at.text_area(key="text").set_value("naive").run()
    header, document = walk(at)
    assert "has no id" not in of_head(step_of(header, document).fact, header, document)
