"""The notebooks in examples/: the outputs that they keep are those of a run, and each is found where readers look."""

from __future__ import annotations

import re
from ast import literal_eval
from base64 import b64decode
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

from tests.examples import NOTEBOOKS, ROOT, kernel

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def texts_and_pictures(notebook: nbformat.NotebookNode) -> tuple[list[str], list[bytes]]:
    """Return what each cell prints with the texts of its results, and the pictures.

    What a cell prints comes in as many pieces as it takes the kernel, which is slow on a busy machine.
    """
    of_cells = [cell.get("outputs", ()) for cell in notebook.cells]
    texts = ["".join(output.get("text") or output["data"]["text/plain"] for output in one) for one in of_cells]
    outputs = [output for one in of_cells for output in one]
    return texts, [
        b64decode(output["data"]["image/png"]) for output in outputs if "image/png" in output.get("data", {})
    ]


def pixels(picture: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(picture)).convert("RGB"), np.int16)


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Path], nbformat.NotebookNode]]:
    """Run each notebook in the same kernel, which imports torch once."""
    with kernel() as run_in_it:
        yield run_in_it


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_outputs_that_a_notebook_keeps_are_those_of_a_run(
    run: Callable[[Path], nbformat.NotebookNode], path: Path
) -> None:
    """Texts to the letter, and numbers to 2 in the last digit that is printed: processors differ in last bits."""
    (kept_texts, kept_pictures), (texts, pictures) = map(
        texts_and_pictures, (nbformat.read(path, as_version=4), run(path))
    )
    again = "run: python -m tests.examples"
    assert [NUMBER.sub("0", text) for text in texts] == [NUMBER.sub("0", text) for text in kept_texts], again
    for text, kept_text in zip(texts, kept_texts, strict=True):
        for number, kept in zip(NUMBER.findall(text), NUMBER.findall(kept_text), strict=True):
            last_digit = 10.0 ** -len(kept.partition(".")[2])
            assert float(number) == pytest.approx(float(kept), abs=2 * last_digit if "." in kept else 0), (text, again)
    assert len(pictures) == len(kept_pictures) > 0
    for picture, kept_picture in zip(map(pixels, pictures), map(pixels, kept_pictures), strict=True):
        assert picture.shape == kept_picture.shape, again
        assert np.abs(picture - kept_picture).mean() < 1, again


def test_a_notebook_gets_no_random_state_and_no_warning_that_was_given_from_the_one_before(
    run: Callable[[Path], nbformat.NotebookNode], tmp_path: Path
) -> None:
    """A module warns once of the same, however often it is asked; what is drawn after a seed is always the same."""
    cells = {
        "before": "import random, warnings, numpy, torch\n"
                  "numpy.random.seed(0), torch.manual_seed(0), random.seed(0)\n"
                  "warnings.warn_explicit('said once', UserWarning, 'a', 1, registry=vars(random).setdefault('_', {}))",
        "after": "import random, numpy, torch\n"
                 "float(numpy.random.rand()), torch.rand(1).item(), random.random()",
    }  # fmt: skip
    for name, source in cells.items():
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / name)
    drawn: list[tuple[float, ...]] = []
    for _ in range(2):
        ((said,), _) = texts_and_pictures(run(tmp_path / "before"))
        assert "said once" in said
        ((text,), _) = texts_and_pictures(run(tmp_path / "after"))
        drawn.append(literal_eval(text))
    assert [one for one, other in zip(*drawn, strict=True) if one == other] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_installs_what_it_needs_first_and_keeps_no_warning(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    title, install, *rest = notebook.cells
    assert title.source.startswith("# ")
    assert 'find_spec("attnviz") is None' in install.source and '%pip install -q "attnviz[notebook]"' in install.source
    assert install.outputs == []
    outputs = [output for cell in rest for output in cell.get("outputs", ())]
    assert [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert path.stat().st_size < 700_000, "it is read on hosts of repositories, which show no larger ones"


def test_the_first_notebook_has_its_head_in_ten_lines() -> None:
    first = nbformat.read(ROOT / "examples" / "first_head.ipynb", as_version=4)
    lines = [line for line in first.cells[2].source.splitlines() if line.strip()]
    assert len(lines) <= 10


def test_all_notebooks_are_linked() -> None:
    assert len(NOTEBOOKS) == 5
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\((\w+\.ipynb)\)", listed)) == {path.name for path in NOTEBOOKS}
    assert "](examples/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
