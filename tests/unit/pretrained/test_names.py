"""Whether a model is on this machine is found as huggingface_hub finds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnviz.pretrained.names import hub_cache, is_on_this_machine

VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")


@pytest.mark.parametrize(
    "given", [{}, {"HF_HOME": "~/a"}, {"XDG_CACHE_HOME": "/x"}, {"HF_HUB_CACHE": "/y/$USER", "HF_HOME": "/z"}]
)
def test_the_cache_is_where_huggingface_hub_has_it(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ask = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    theirs = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True, env=os.environ)
    assert str(hub_cache()) == theirs.stdout.strip()


def test_a_cached_model_counts_with_its_weights_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--someone--small" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").touch()
    assert not is_on_this_machine("someone/small")
    (snapshot / "model.safetensors").touch()
    assert is_on_this_machine("someone/small")
    assert is_on_this_machine("minilm")
    assert is_on_this_machine(str(tmp_path))
    assert not is_on_this_machine(str(tmp_path / "none"))
