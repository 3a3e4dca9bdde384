"""The layout that Python writes and the browser reads."""

import json
import struct

import numpy as np
import pytest

from attnviz.components.packing import pack, unpack


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "weights": rng.integers(0, 256, (2, 3, 5), dtype=np.uint8),  # 30 bytes: what follows is not aligned
        "query": rng.normal(size=(3, 4)).astype(np.float32),
        "coded": rng.integers(0, 2**16, (3, 1), dtype=np.uint16),
        "mask": np.array([[0, -np.inf], [np.nan, 0.35]], np.float32),
    }


def test_what_is_packed_comes_back_bit_for_bit(arrays: dict[str, np.ndarray]) -> None:
    header, back = unpack(pack({"step": "scores", "q": None, "labels": ["</script>", "🙂", "\u202ea"]}, arrays))
    assert header["step"] == "scores"
    assert header["q"] is None
    assert header["labels"] == ["</script>", "🙂", "\u202ea"]
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("filler", ["", "a", "ab", "abc", "é"])
def test_arrays_start_at_a_multiple_of_four(filler: str) -> None:
    payload = pack({"note": filler}, {"x": np.ones(1, np.float32)})
    (length,) = struct.unpack_from("<I", payload)
    assert (4 + length) % 4 == 0
    assert len(payload) == 4 + length + 4
    assert json.loads(payload[4 : 4 + length])["arrays"] == [{"name": "x", "dtype": "f4", "shape": [1]}]


def test_a_transposed_view_is_packed_in_its_own_order() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert unpack(pack({}, {"x": x.T}))[1]["x"].tolist() == x.T.tolist()


def test_big_endian_floats_are_turned_round() -> None:
    assert unpack(pack({}, {"x": np.array([1.5], ">f4")}))[1]["x"].tolist() == [1.5]


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_empty_and_scalar_shapes(shape: tuple[int, ...]) -> None:
    assert unpack(pack({}, {"x": np.zeros(shape, np.float32)}))[1]["x"].shape == shape


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.bool_])
def test_other_dtypes_are_refused_by_name(dtype: type[np.generic]) -> None:
    with pytest.raises(TypeError, match=r"'x' is .*float32, uint16 and uint8"):
        pack({}, {"x": np.zeros(2, dtype)})


def test_a_header_that_no_browser_parses_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"scale": float("nan")}, {})


def test_a_payload_of_another_length_than_its_header_says_is_refused() -> None:
    with pytest.raises(ValueError, match="payload holds"):
        unpack(pack({}, {"x": np.zeros(2, np.float32)}) + b"\0")
