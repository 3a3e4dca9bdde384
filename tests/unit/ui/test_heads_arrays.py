"""The files of heads that the page offers: made from names and texts alone, as often as they are needed."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays
from safetensors.numpy import load_file, save_file

from attnviz.heads import all_heads as head_files
from attnviz.heads.all_heads import Arrays
from attnviz.measures.survey import survey_name
from attnviz.runtime.arrays import Body, NotOfferedError, array_store
from attnviz.runtime.cache import cache_usage
from attnviz.ui import caches
from attnviz.ui.heads.view import Heads, offer_arrays
from tests.unit.families import save

TEXT = "the cat sat on the mat"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    """A small model of one's own, of which nothing stays."""
    yield str(save("bert", tmp_path / "bert"))
    caches.clear()


def offered(model: str, text: str = TEXT) -> dict[str, Any]:
    trace = caches.trace(caches.model(model), text, None)
    heads = Heads(model, text, None, "encoder", survey_name(trace, "encoder"))
    return offer_arrays(heads, caches.survey(trace, "encoder", heads.name), rollout=True)


def request(digest: str) -> Future[Body]:
    return array_store().request(digest)


def read(digest: str) -> Arrays:
    found: Arrays = load_arrays(request(digest).result(60).decompressed())
    return found


def test_an_offer_holds_no_tensor_and_its_file_is_made_again_without_the_trace(folder: str) -> None:
    files = offered(folder)
    gone = weakref.ref(caches.trace(caches.model(folder), TEXT, None).layer(0).query)
    weights = caches.trace(caches.model(folder), TEXT, None).attentions(1).double().numpy()
    caches.clear()
    gc.collect()
    assert gone() is None
    found = read(files["shared"])["weights"]
    layers = len(files["rollout"])
    np.testing.assert_allclose(found[len(found) // layers :][: len(weights)] / 65535, weights, rtol=0, atol=7.7e-6)
    rolled = read(files["rollout"][1])["weights"]
    np.testing.assert_allclose(rolled.sum(-1) / 65535, 1, atol=8 * 7.7e-6)


def test_the_same_text_has_the_same_files_and_another_one_others(folder: str) -> None:
    assert offered(folder) == offered(folder)
    every = [*flat(offered(folder)), *flat(offered(folder, "another text"))]
    assert len(set(every)) == len(every)


def flat(files: dict[str, Any]) -> list[str]:
    return [files["shared"], *files["rollout"]]


def test_a_model_that_is_gone_or_gives_other_numbers_is_not_offered_any_more(folder: str) -> None:
    files = offered(folder)
    weights = Path(folder) / "model.safetensors"
    changed = {name: array * np.float32(1.5) for name, array in load_file(weights).items()}
    save_file(changed, weights, metadata={"format": "pt"})
    caches.clear()
    with pytest.raises(NotOfferedError):
        read(files["shared"])
    assert read(offered(folder)["shared"]).keys() >= {"weights"}
    shutil.rmtree(folder)
    caches.clear()
    with pytest.raises(NotOfferedError):
        read(files["rollout"][0])


def test_of_a_large_text_each_file_has_its_heads(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_files, "ALL_BYTES", 100)
    monkeypatch.setattr(head_files, "PART_BYTES", 100)
    computed = cache_usage().get("arrays", (0, 0))
    files = offered(folder, "a text that is offered in parts")
    trace = caches.trace(caches.model(folder), "a text that is offered in parts", None)
    every = np.concatenate([trace.attentions(layer).double().numpy() for layer in range(len(files["rollout"]))])
    assert [first for _, first, _ in files["weights"]] == list(range(len(every)))
    assert len({digest for digest, *_ in files["weights"]}) == len(every)
    assert cache_usage()["arrays"] == computed, "nothing is made before it is requested"
    assert request(files["shared"]).result(60).compressed
    assert read(files["shared"]).keys() == {"overview", "key_norms"}
    for digest, first, count in files["weights"]:
        np.testing.assert_allclose(read(digest)["weights"] / 65535, every[first : first + count], rtol=0, atol=7.7e-6)
