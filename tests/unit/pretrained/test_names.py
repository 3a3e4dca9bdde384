"""Whether a model is on this machine is found as huggingface_hub finds it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from attnviz.pretrained.names import (
    ModelError,
    UnfitError,
    attempt,
    check_tokenizer,
    hub_cache,
    is_on_this_machine,
    local_folder,
    shown,
)
from attnviz.pretrained.unfit import check_kind, embeddings_of, in_its_place
from attnviz.tokens import NoTokensError
from tests.scripts import run_alone

VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")


ASK = """
import importlib, json, os, sys
from huggingface_hub import constants
for given in json.loads(sys.argv[1]):
    for name, value in given.items():
        os.environ[name] = value
    importlib.reload(constants)
    print(constants.HF_HUB_CACHE)
    for name in given:
        del os.environ[name]
"""
"""Prints where huggingface_hub has its cache in each of some environments"""


def test_the_cache_is_where_huggingface_hub_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    environments = {"HF_HOME": "~/a"}, {"XDG_CACHE_HOME": "/x"}, {"HF_HUB_CACHE": "/y/$USER", "HF_HOME": "/z"}, {}
    theirs = run_alone(ASK, json.dumps(environments), cwd=tmp_path)
    for given, cache in zip(environments, theirs.stdout.splitlines(), strict=True):
        with monkeypatch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            assert str(hub_cache()) == cache, given


def test_a_cached_model_counts_with_its_weights_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--someone--small" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").touch()
    assert not is_on_this_machine("someone/small")
    (snapshot / "model-00001-of-00002.safetensors").touch()
    assert is_on_this_machine("someone/small")
    assert is_on_this_machine("minilm")
    assert is_on_this_machine(str(tmp_path))
    assert not is_on_this_machine(str(tmp_path / "none"))


def test_a_folder_is_named_with_a_slash_before_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("gpt2", "~nobody", "models/mine"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("./gpt2", "gpt2/../gpt2/", "~/gpt2", "models/mine", "./~nobody"):
        found = local_folder(name)
        assert found is not None and found.is_dir()
        assert is_on_this_machine(name)
    for name in ("gpt2", "gpt2/", "~nobody", "~nobody/x", "/", "", "models/none"):
        assert local_folder(name) is None
        assert not is_on_this_machine(name)
    assert (local_folder("a/\0"), local_folder("x/" * 3000)) == (None, None)


def test_a_long_name_loses_its_beginning() -> None:
    assert shown("a" * 80) == "a" * 80
    assert shown("b" + "a" * 80) == "…" + "a" * 79
    assert shown("a\ud800").encode()
    assert shown("x/" + "y" * 90 + "/end").endswith("/end")


@pytest.mark.parametrize("is_fast", [True, False, None])
def test_a_tokenizer_without_offsets_is_refused(is_fast: bool | None) -> None:
    tokenizer = SimpleNamespace() if is_fast is None else SimpleNamespace(is_fast=is_fast)
    if is_fast:
        check_tokenizer(tokenizer, "some/model")
        return
    with pytest.raises(ModelError, match=r"^some/model has no tokenizer that says where .*; choose another model\.$"):
        check_tokenizer(tokenizer, "some/model")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UnfitError("reads sound, not a text alone", "open another"), "m reads sound, not a text alone; open another."),
        (UnfitError("reads sound"), "m reads sound; choose another model."),
        (ValueError("set trust_remote_code=True"),
         "m needs its own code to run, which is never done here; choose another model."),
        (RuntimeError("it has custom code"),
         "m needs its own code to run, which is never done here; choose another model."),
        (RuntimeError("pass ignore_mismatched_sizes"),
         "The weights of m have other shapes than its configuration says; choose another model."),
        (KeyError("x"), "The weights of m can't be read; choose another model."),
    ],
)  # fmt: skip
def test_each_error_of_a_library_is_one_sentence(error: Exception, said: str) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(ModelError) as found:
        attempt(fail, "m", "weights")
    assert str(found.value) == said
    assert attempt(lambda: 3, "m", "weights") == 3
    for own in (ModelError("as it is"), NoTokensError()):
        with pytest.raises(type(own)) as passed:
            attempt(lambda own=own: (_ for _ in ()).throw(own), "m", "weights")  # type: ignore[misc]
        assert passed.value is own


@pytest.mark.parametrize(
    ("reads", "said"),
    [("image", "reads pictures, not a text alone"), (("image", "text", "audio"), "reads pictures and sound, not"),
     (("smell",), "reads other input than tokens, not"),
     (("video", "time", "image"), "videos, series of measurements and pictures")],
)  # fmt: skip
def test_what_a_model_reads_in_place_of_a_text_is_named(reads: Any, said: str) -> None:
    with pytest.raises(UnfitError, match=said):
        check_kind(SimpleNamespace(main_input_name="pixel_values", input_modalities=reads))
    check_kind(SimpleNamespace(main_input_name="input_ids", input_modalities=reads))


def test_a_model_of_the_same_kind_is_offered_in_its_place() -> None:
    for decoder, kind, said in ((True, "t5", "t5-small"), (False, "gpt2", "gpt2"), (False, "bert", "gpt2"),
                                (False, "dpr", "bert-base-uncased")):  # fmt: skip
        config = SimpleNamespace(is_encoder_decoder=decoder, model_type=kind)
        assert in_its_place(config).startswith(f"open {said},")  # BERT can continue a text in transformers too


def test_embeddings_are_those_of_the_first_model_that_has_them() -> None:
    def of(rows: int | None, error: type[Exception] = AttributeError) -> Any:
        def get() -> nn.Module:
            if rows is None:
                raise error
            return nn.Embedding(rows, 2)

        return SimpleNamespace(get_input_embeddings=get)

    def shape(models: list[Any]) -> tuple[int, ...] | None:
        embeddings = embeddings_of(models)
        return None if embeddings is None else tuple(embeddings.shape)

    assert shape([of(None), of(7), of(9)]) == (7, 2)
    assert shape([of(None, NotImplementedError), of(9)]) == (9, 2)
    assert shape([of(None)]) is None
