"""Hostile files: folders that call themselves models, and lessons. Each gets a sentence; none runs, and none grows."""

from __future__ import annotations

import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnviz.lessons import LessonError, read_lesson
from attnviz.pretrained import ModelError, load
from attnviz.pretrained.unfit import check_model, check_numbers, shapes
from tests.scripts import ROOT, run_alone
from tests.unit.families import FAMILIES, save

MEMORY = 2 * 2**30
"""Bytes that a process may reach which reads every bomb; torch and transformers alone take some 400 MB."""

BOMBS: dict[str, tuple[str, dict[str, Any]]] = {
    "layers": ("bert", {"num_hidden_layers": 10**10}),
    "width": ("bert", {"hidden_size": 2**20, "intermediate_size": 2**20, "num_attention_heads": 1}),
    "vocabulary": ("bert", {"vocab_size": 10**12}),
    "positions": ("gpt2", {"n_positions": 10**12}),
    "square of positions": ("gpt2", {"n_positions": 2**24}),
    "a class for each number": ("distilbert", {"num_labels": 10**9}),
    "a table made in Python": ("distilbert", {"sinusoidal_pos_embds": True, "max_position_embeddings": 2**24}),
    "groups": ("albert", {"inner_group_num": 10**9}),
    "as many groups as may be stated": ("albert", {"inner_group_num": 2**24}),
    "as many layers as may be stated": ("bert", {"num_hidden_layers": 256}),
    "a decoder": ("bart", {"decoder_layers": 10**9}),
    "a nested number": ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 2.0, "layers": [10**11]}}),
    "a number of 4,000 digits": ("t5", {"d_ff": 10**4000}),
    "layers for empty tensors": ("bert", {"num_hidden_layers": 2**14}),
    "layers for tensors of one number": ("bert", {"num_hidden_layers": 2**14}),
}
TENSORS = {"layers for empty tensors": 0, "layers for tensors of one number": 1}
"""Bombs whose file has 2**14 tensors more, and how many numbers are in each of them"""


class Runs:
    """Unpickled, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.mark,)


def add_tensors(file: Path, number: int, each: int) -> None:
    """Add so many tensors of bytes to a safetensors file, with so many bytes in each."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, end = json.loads(data[8 : 8 + length]), len(data) - 8 - length
    header |= {
        f"x{place}": {"dtype": "U8", "shape": [each], "data_offsets": [end + place * each, end + (place + 1) * each]}
        for place in range(number)
    }
    written = json.dumps(header).encode()
    file.write_bytes(len(written).to_bytes(8, "little") + written + data[8 + length :] + bytes(number * each))


def sentence(folder: Path) -> str:
    with pytest.raises(ModelError) as error:
        load(str(folder))
    return str(error.value)


@pytest.mark.parametrize(
    "file", ["pytorch_model.bin", "model.safetensors", "model.safetensors.index.json", "training_args.bin"]
)
@pytest.mark.parametrize("zipped", [False, True], ids=["bare", "zipped"])
def test_no_pickle_is_ever_opened(tmp_path: Path, file: str, zipped: bool) -> None:
    """Alone in its folder, under the name of a safe file, or named by an index of safe files."""
    folder, mark = save("bert", tmp_path / "model"), tmp_path / "ran"
    evil = pickle.dumps(Runs(mark))
    pickle.loads(evil)
    assert mark.exists()  # it would run
    mark.unlink()
    if file != "training_args.bin":
        (folder / "model.safetensors").unlink()
    name = "pytorch_model.bin" if file.endswith(".json") else file
    if zipped:
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("archive/data.pkl", evil)
            archive.writestr("archive/version", "3")
    else:
        (folder / name).write_bytes(evil)
    if file.endswith(".json"):
        (folder / file).write_text(json.dumps({"metadata": {}, "weight_map": {"a": name}}))
    if file == "training_args.bin":  # never looked at
        assert load(str(folder)).description.layers == {"encoder": (2, 4)}
    else:
        assert "safetensors" in sentence(folder) or "weights" in sentence(folder)
    assert not mark.exists()


def test_oversized_configurations_are_refused_before_memory_is_allocated(tmp_path: Path) -> None:
    for number, (name, (family, changes)) in enumerate(BOMBS.items()):
        folder = save(family, tmp_path / str(number))
        if name in TENSORS:
            add_tensors(folder / "model.safetensors", 2**14, TENSORS[name])
        config = json.loads((folder / "config.json").read_text())
        sys.set_int_max_str_digits(0)
        (folder / "config.json").write_text(json.dumps(config | changes))
        sys.set_int_max_str_digits(4300)
    child = """
import resource, sys
from pathlib import Path
from attnviz.pretrained import ModelError, load
resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30,) * 2)
for folder in sorted(Path(sys.argv[1]).iterdir(), key=lambda path: int(path.name)):
    try:
        print("loaded", load(str(folder)).description.layers)
    except ModelError as error:
        print(error)
# Not ru_maxrss, which counts the process that started this one too.
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    # The 100 seconds of processor above are the limit; on a busy machine they last several times as long.
    done = run_alone(child, tmp_path, cwd=ROOT, has_attnviz=True, timeout=540)
    assert done.returncode == 0, done.stderr
    *lines, most = done.stdout.splitlines()
    assert len(lines) == len(BOMBS), done.stderr
    for name, line in zip(BOMBS, lines, strict=True):
        assert "configuration" in line, f"{name}: {line}"
        assert "its " in line or "4300" in line, f"{name}: {line}"
    assert int(most) < MEMORY


@pytest.mark.parametrize("each", TENSORS.values())
def test_a_file_may_have_more_tensors_than_its_model(each: int, tmp_path: Path) -> None:
    folder = save("bert", tmp_path)
    add_tensors(folder / "model.safetensors", 10, each)
    assert load(str(folder)).description.layers == {"encoder": (2, 4)}


@pytest.mark.parametrize("family", FAMILIES)
def test_honest_models_are_let_in(family: str, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModel

    folder = save(family, tmp_path / "model")
    check_numbers(folder)
    check_model(folder, AutoConfig.from_pretrained(folder), AutoModel)
    assert shapes(folder / "model.safetensors")


@pytest.mark.parametrize(
    "data",
    [
        b"title: x\nsummary: x\nscenes:\n- &a [x]\n" + b"".join(b"- &a%d [*a, *a, *a]\n" % n for n in range(50)),
        b"title: &a x\nsummary: *a\nscenes: []\n",
        b"!!python/object/apply:os.system ['touch /tmp/attnviz-ran']",
        b"title: !!python/name:os.system\nscenes: []",
        b"[" * 90_000,
        b"- " * 40_000 + b"x",
        b"? " * 40_000,
        b"x: " * 20_000,
        b"'" + b"x" * 10**7,
        b"\xff\xfe\x00",
        b"a: 1\n---\na: 2\n",
        b"<<: {a: 1}\n" * 100,
    ],
    ids=[
        "billion laughs",
        "alias",
        "object",
        "name",
        "brackets",
        "dashes",
        "questions",
        "keys",
        "long",
        "bytes",
        "two",
        "merge",
    ],
)
def test_a_malicious_lesson_gets_an_error_message(data: bytes) -> None:
    with pytest.raises(LessonError) as error:
        read_lesson(data, "file")
    assert len(str(error.value)) < 300
