"""What Python writes for browser components, read by safetensors itself; and what it takes from the browser."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from attnviz.components import matrix
from attnviz.components.payload import write_payload
from attnviz.components.registration import position
from attnviz.components.walk import walk
from tests.payloads import read_payload


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "weights": rng.integers(0, 256, (2, 3, 5), dtype=np.uint8),
        "query": rng.normal(size=(3, 4)).astype(np.float32),
        "coded": rng.integers(0, 2**16, (3, 1), dtype=np.uint16),
        "mask": np.array([[0, -np.inf], [np.nan, 0.35]], np.float32),
    }


LABELS = ["</script>", "🙂", "\u202ea", "\ud800", '"\\']


def test_what_is_written_comes_back_bit_for_bit(arrays: dict[str, np.ndarray]) -> None:
    header, back = read_payload(write_payload({"step": "scores", "q": None, "labels": LABELS}, arrays))
    assert header == {"step": "scores", "q": None, "labels": LABELS}
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("filler", ["", "a", "ab", "abc", "é"])
def test_every_array_lies_at_a_multiple_of_its_numbers_size(arrays: dict[str, np.ndarray], filler: str) -> None:
    payload = write_payload({"note": filler}, {"a": arrays["weights"][0, 0], **arrays})
    body = 8 + int.from_bytes(payload[:8], "little")
    outer = json.loads(payload[8:body])
    assert outer.pop("__metadata__").keys() == {"header"}
    for name, entry in outer.items():
        assert (body + entry["data_offsets"][0]) % load(payload)[name].itemsize == 0
    assert payload == write_payload({"note": filler}, {**arrays, "a": arrays["weights"][0, 0]})


def test_a_view_that_is_not_in_order_is_written_in_its_own_order() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for view in (x.T, x[:, ::2], x[::-1], np.broadcast_to(x[0], (4, 3))):
        assert read_payload(write_payload({}, {"x": view}))[1]["x"].tolist() == view.tolist()


def test_big_endian_floats_are_turned_round() -> None:
    assert read_payload(write_payload({}, {"x": np.array([1.5], ">f4")}))[1]["x"].tolist() == [1.5]


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_empty_and_scalar_shapes(shape: tuple[int, ...]) -> None:
    assert read_payload(write_payload({}, {"x": np.zeros(shape, np.float32)}))[1]["x"].shape == shape


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.bool_])
def test_other_dtypes_are_refused_by_name(dtype: type[np.generic]) -> None:
    with pytest.raises(TypeError, match=r"'x' is .*float32, uint16 and uint8"):
        write_payload({}, {"x": np.zeros(2, dtype)})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_header_that_no_browser_parses_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_payload({"scale": [number]}, {})


def test_a_component_that_streamlit_does_not_know_says_what_to_do() -> None:
    # Where no server runs, Streamlit knows of no packaged component: what a user without the install meets. In its own
    # process, because page tests in this one may have started what a server starts.
    code = "from attnviz.components.registration import mount; mount('walk', {}, {}, key='any')"
    errors = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "ComponentNotFoundError" in errors
    assert "attnviz.main" in errors
    assert "pip install -e ." in errors


def test_importing_the_components_needs_no_server() -> None:
    assert callable(walk)


@pytest.mark.parametrize(("sent", "read"), [(0, 0), (7, 7), (3.0, 3), (10**6, 10**6)])
def test_a_position_is_read(sent: object, read: int) -> None:
    assert position(sent) == read
    assert isinstance(position(sent), int)


@pytest.mark.parametrize("sent", [None, -1, 2.5, True, "3", [1], {}, math.nan, math.inf])
def test_what_is_no_position_is_none(sent: object) -> None:
    assert position(sent) is None


Mounted = tuple[dict[str, Any], dict[str, np.ndarray], Callable[[dict[str, Any]], None] | None]


@pytest.fixture
def mounted(monkeypatch: pytest.MonkeyPatch) -> list[Mounted]:
    """Each matrix component that was mounted: header, arrays, and what takes the changes from the browser."""
    calls: list[Mounted] = []

    def mount(
        name: str,
        header: dict[str, Any],
        arrays: dict[str, np.ndarray],
        *,
        key: str,
        on_update: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        assert (name, key) == ("matrix", "any")
        calls.append((header, arrays, on_update))

    monkeypatch.setattr(matrix, "mount", mount)
    monkeypatch.setattr(matrix, "mount_with_updates", mount)
    return calls


def test_a_matrix_of_heads_names_layers_before_heads(mounted: list[Mounted]) -> None:
    effects = matrix.ClickEffects("take it", "give it back", "taken", "given back")
    taken: list[object] = []
    values = np.array([[0, 0.25, 0.5], [0.125, 2, np.nan]], np.float32)
    for numbers, chosen in ((values, [(1, 2), (0, 1)]), (np.full((2, 3), np.nan, np.float32), [])):
        matrix.heads_matrix(
            numbers, chosen, title="Loss", readings=list("abcdef"), click_effects=effects, hint="point", key="any",
            on_choice=taken.append,
        )  # fmt: skip
    (header, arrays, on_update), (blank, _, _) = mounted
    assert (
        header["alt"]
        == "Loss, 2 rows: layer, 3 columns: head, numbers from 0.00 to 2.00; chosen: layer 1 head 2, layer 0 head 1"
    )
    assert blank["alt"] == "Loss, 2 rows: layer, 3 columns: head, not computed yet"
    looks = [[shown["panels"][0][name] for name in ("rows", "cols", "high", "is_blank")] for shown in (header, blank)]
    assert looks == [["layer", "head", 2, False], ["layer", "head", 1, True]]
    assert (header["chosen"], blank["chosen"], header["readings"]) == ("1.2_0.1", "", list("abcdef"))
    assert header["click_effects"] + header["click_results"] == list(effects)
    assert arrays.keys() == {header["panels"][0]["name"]}
    assert on_update is not None
    for sent in ({"chosen": "0.2"}, {"row": 1}, {"chosen": ""}):
        on_update(sent)
    assert taken == ["0.2", ""]


def test_matrices_side_by_side_name_queries_before_keys(mounted: list[Mounted]) -> None:
    shown = [
        matrix.ShownMatrix("a", "Before", np.zeros((2, 3), np.float32), 0.5),
        matrix.ShownMatrix("b", "After", np.ones((4, 1), np.float32), 2, "token", "class", has_bar=False),
    ]
    rows: list[int] = []
    labels = {"query": ("x", "y"), "key": ("u", "v", "w")}
    matrix.matrices(shown, labels, hint="point", key="any")
    matrix.matrices(shown, labels, hint="point", key="any", row=matrix.ChosenRow(1, rows.append))
    (header, arrays, _), (with_row, _, on_update) = mounted
    assert header["alt"] == (
        "Before, 2 rows: query (from), 3 columns: key (to), numbers from 0.00 to 0.00; "
        "After, 4 rows, 1 column, numbers from 1.00 to 1.00"
    )
    looks = [[panel[name] for name in ("name", "rows", "cols", "high", "bar")] for panel in header["panels"]]
    assert looks == [["a", "query", "key", 0.5, True], ["b", "token", "class", 2, False]]
    assert (header["labels"], header["row"], with_row["row"]) == ({k: list(v) for k, v in labels.items()}, None, 1)
    assert {name: values.shape for name, values in arrays.items()} == {"a": (2, 3), "b": (4, 1)}
    assert on_update is not None
    for sent in ({"row": 0}, {"row": -1}, {"row": "1"}, {"q": 1}, {"row": 9}):
        on_update(sent)
    assert rows == [0, 9], "the page knows how many rows there are"
