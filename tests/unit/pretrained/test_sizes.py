"""Which sizes a model's configuration may state, by what its files hold: each limit, and one more."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Event, Thread

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.modules.module import _global_module_registration_hooks, _global_parameter_registration_hooks
from transformers import AutoConfig, AutoModel, BertConfig, M2M100Config

from attnviz.pretrained.unfit import (
    MAX_JSON,
    MAX_LAYERS,
    MAX_TOKENIZER,
    SizeError,
    check_model,
    check_numbers,
    shapes,
)
from tests.unit.families import save

WEIGHTS = MAX_LAYERS + 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with some small weights and an empty configuration."""
    save_file({f"w{i}": torch.zeros(2) for i in range(WEIGHTS)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("num_hidden_layers", WEIGHTS),
        ("hidden_size", 2**20),
        ("num_attention_heads", 2**20),
        ("layer_size", 2**20),
        ("vocab_size_per_layer_input", 2**20),  # Gemma 4 and Gemma 3n: 262,144
        ("hidden_size_per_layer_input", 2**20),
        ("embed_dim_per_stage", 2**20),
        ("block_multiple_of", 2**24),  # LFM2: 256
        ("block_sizes", WEIGHTS),  # Funnel: how many layers each block has
        ("num_experts", 2**20),  # Doge: 16,384, also if it has none
        ("upsample_groups", 2**24),  # Moshi: 512
        ("encoder_hash_byte_group_vocab", 2**24),  # BLT: 500,002
        ("depthwise_separable_out_channel", 2**20),  # Phi-4: 1,024
        ("vision_depth", WEIGHTS),
        ("max_position_embeddings", 2**24),
        ("something_else", 2**24),
        ("n_experts", 2**20),
        ("encoder_layers", WEIGHTS),
        ("expert_dim", 2**20),
        ("d_model", 2**20),
        ("num_labels", 2**20),
        ("vocab_size", 2**20),
        ("n_ctx", 2**24),
        ("sliding_window_size", 2**24),
    ],
)
def test_a_number_may_be_as_large_as_in_any_model_and_no_larger(folder: Path, name: str, most: int) -> None:
    for config in ({name: most}, {"inner": [{name: most}]}):
        (folder / "config.json").write_text(json.dumps(config))
        check_numbers(folder)
    for config in ({name: most + 1}, {"inner": [{name: most + 1}]}, {name: [1, most + 1]}):
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(SizeError, match=f"its {name} is {most + 1:,}, and its file holds {WEIGHTS} weights"):
            check_numbers(folder)


def test_a_number_too_long_for_a_sentence_is_said_in_words(folder: Path) -> None:
    for number, said in ((10**15 - 1, "999,999,999,999,999"), (10**15, "a quadrillion or more")):
        (folder / "config.json").write_text(json.dumps({"hidden_size": number}))
        with pytest.raises(SizeError, match=f"its hidden_size is {said}, and"):
            check_numbers(folder)


def test_numbers_that_are_no_sizes_have_no_limit(folder: Path) -> None:
    (folder / "config.json").write_text(
        json.dumps({"rope_theta": 10**30, "pad_token_id": 10**30, "seed": 10**30, "eos_ids": 10**30})
    )
    check_numbers(folder)


@pytest.mark.parametrize(
    ("name", "limit"),
    [("generation_config.json", MAX_JSON), ("tokenizer.json", MAX_TOKENIZER), ("vocab.json", MAX_TOKENIZER),
     ("model.safetensors.index.json", MAX_TOKENIZER)],
)  # fmt: skip
def test_a_file_may_be_as_large_as_its_limit_and_no_larger(folder: Path, name: str, limit: int) -> None:
    (folder / name).touch()
    os.truncate(folder / name, limit)
    check_numbers(folder)
    os.truncate(folder / name, limit + 1)
    with pytest.raises(SizeError, match=f"its {name} has more than {limit // 2**20} MB"):
        check_numbers(folder)


def test_a_model_much_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    folder = save("bert", tmp_path)
    config = AutoConfig.from_pretrained(folder)
    check_model(folder, config, AutoModel)
    stored = sum(weight.numel() for weight in load_file(folder / "model.safetensors").values())
    config.vocab_size += (4 * stored + 2**24 - stored) // 32 - 1024  # shared weights are in a file once
    check_model(folder, config, AutoModel)
    config.vocab_size += 2048
    with pytest.raises(
        SizeError, match=r"^is too large: its configuration asks for 2\.08e\+07 numbers, and its file holds 1\.01e\+06$"
    ):
        check_model(folder, config, AutoModel)
    config.vocab_size = 2**20  # by 32: 33 million numbers, where the file holds one million
    with pytest.raises(
        SizeError, match=r"^is too large: its configuration asks for 3\.36e\+07 numbers, and its file holds 1\.01e\+06$"
    ):
        check_model(folder, config, AutoModel)


def test_the_weights_of_all_files_count(folder: Path) -> None:
    save_file({f"v{i}": torch.zeros(2) for i in range(5)}, folder / "model-2.safetensors")
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": WEIGHTS + 5}))
    check_numbers(folder)
    (folder / "config.json").write_text(json.dumps({"num_hidden_layers": WEIGHTS + 6}))
    with pytest.raises(SizeError, match=f"its file holds {WEIGHTS + 5} weights"):
        check_numbers(folder)


def test_as_many_layers_as_any_model_has_may_be_stated_without_weights(folder: Path) -> None:
    """A list of the indices of layers, as Mllama's, says nothing about how many there are."""
    (folder / "model.safetensors").unlink()
    (folder / "config.json").write_text(json.dumps({"cross_attention_layers": [3, 38, MAX_LAYERS]}))
    check_numbers(folder)
    (folder / "config.json").write_text(json.dumps({"cross_attention_layers": [3, 38, MAX_LAYERS + 1]}))
    with pytest.raises(SizeError):
        check_numbers(folder)


@pytest.mark.parametrize(
    ("family", "change"), [("bert", {"num_hidden_layers": 2**12}), ("albert", {"inner_group_num": 2**24})]
)
def test_a_model_is_built_no_further_than_its_file_allows(family: str, change: dict[str, int], tmp_path: Path) -> None:
    folder = save(family, tmp_path)
    weights = len(load_file(folder / "model.safetensors"))
    config = AutoConfig.from_pretrained(folder)
    check_model(folder, config, AutoModel)
    for name, number in change.items():
        setattr(config, name, number)
    with pytest.raises(
        SizeError, match=f"asks for more than {8 * weights + 1024:,} parts, and its file holds {weights}"
    ):
        check_model(folder, config, AutoModel)
    nn.Sequential(*(nn.Identity() for _ in range(2000)))  # other models are not limited


def test_tables_that_are_no_weights_count_too(folder: Path) -> None:
    """M2M-100's sinusoids are computed when the model is made."""
    config = M2M100Config(vocab_size=128, d_model=16, encoder_layers=1, decoder_layers=1, max_position_embeddings=2**17)
    check_model(folder, config, AutoModel)
    config.max_position_embeddings = 2**20
    with pytest.raises(
        SizeError, match=r"^is too large: its configuration asks for 3\.\d\de\+07 numbers, and its file holds \d+$"
    ):
        check_model(folder, config, AutoModel)


def test_no_file_allows_more_parts_than_any_model_has(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.pretrained.unfit.MAX_PARTS", 2000)  # its 65,536 take ten seconds
    sizes = {"vocab_size": 128, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    check_model(folder, BertConfig(**sizes, num_hidden_layers=20), AutoModel)
    with pytest.raises(SizeError, match=f"asks for more than 2,000 parts, and its file holds {WEIGHTS} weights"):
        check_model(folder, BertConfig(**sizes, num_hidden_layers=60), AutoModel)


def test_other_threads_build_their_models_meanwhile(tmp_path: Path) -> None:
    """A check counts only what its own thread builds, and changes nothing that torch reads in the others."""
    folder = save("bert", tmp_path)
    config = AutoConfig.from_pretrained(folder)
    most = 8 * len(load_file(folder / "model.safetensors")) + 1024
    ends, built, errors = Event(), [0], []

    def build() -> None:
        try:
            while not ends.is_set():
                nn.Sequential(*(nn.Linear(1, 1) for _ in range(10)))
                built[0] += 30
        except Exception as error:
            errors.append(error)

    tables = [dict(_global_module_registration_hooks), dict(_global_parameter_registration_hooks)]
    other = Thread(target=build)
    other.start()
    try:
        while built[0] < 2 * most and not errors:
            check_model(folder, config, AutoModel)
            assert tables == [_global_module_registration_hooks, _global_parameter_registration_hooks]
    finally:
        ends.set()
        other.join()
    assert not errors
    assert built[0] > most


def header_of(shape: list[object], data: int) -> bytes:
    """Return a safetensors file of one tensor with this shape and so many bytes."""
    header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, data]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(data)


def test_shapes_that_a_file_can_not_hold_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    for shape, counts in (
        ([2, 10], True), ([10**9], False), ([-2, -2], False), (["2"], False), ([], True), ([0], False), ([3, 0], False),
        ([80], True), ([160], True), ([200], False),  # numbers of 8 and of 4 bits
    ):  # fmt: skip
        file.write_bytes(header_of(shape, 80))
        assert shapes(file) == ({"w": tuple(shape)} if counts else {})
    for data in (b"", b"\xff" * 100, (10**12).to_bytes(8, "little") + b"{}", b"\2\0\0\0\0\0\0\0[]"):
        file.write_bytes(data)
        assert shapes(file) == {}
