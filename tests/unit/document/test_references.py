"""A document that refers to arrays, and the arrays that it refers to: each is the one that the whole document holds."""

import numpy as np
import pytest

from attnviz.document import DocumentError, array_of, document_of, document_of_layer, read, write
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.loaded import built_in_model
from tests.toy import run_block


@pytest.fixture(scope="module")
def walk() -> Walk:
    return built_in_model().trace("The cat sat on the mat.").walk(3, 5)


def test_each_array_is_in_the_file_or_made_apart(walk: Walk) -> None:
    whole = document_of_layer(walk, (5, 6))
    sizes = {}

    def refer(name: str, nbytes: int) -> str | None:
        sizes[name] = nbytes
        return "d-" + name.replace("/", "-") if name not in ("query/5", "key/5", "value/5") else None

    parts = read(write(document_of_layer(walk, (5, 6), refer_to=refer)))
    assert set(parts.arrays) == {"query/5", "key/5", "value/5"}
    assert sizes == {name: array.nbytes for name, array in whole.arrays.items()}
    for name, reference in parts.header.references.items():
        head = 6 if name.endswith("/6") else 5
        own = walk if head == 5 else built_in_model().trace("The cat sat on the mat.").walk(3, 6)
        assert reference.digest == "d-" + name.replace("/", "-")
        made = array_of(own, name)
        assert made.shape == reference.shape
        np.testing.assert_array_equal(made, whole.arrays[name])


def test_an_array_that_no_document_holds_is_a_key_error(walk: Walk) -> None:
    with pytest.raises(KeyError):
        array_of(walk, "weights/5")


def test_the_heads_are_not_joined_for_arrays_that_are_not_in_the_file() -> None:
    one = run_block((4, 8, 15, 16, 23), ToyConfig(heads=3)).walk(0, 1)
    document = document_of(one, refer_to=lambda name, _: "a" if name in ("concat", "output") else None)
    assert document.header.references.keys() == {"concat", "output"}
    assert [reference.shape for reference in document.header.references.values()] == [(5, 24), (5, 16)]
    assert "concat" not in vars(one)  # where a walk keeps what it has computed


def test_a_document_whose_file_has_none_of_its_heads_is_refused(walk: Walk) -> None:
    with pytest.raises(DocumentError, match="query, key and value of at least one head"):
        document_of_layer(walk, refer_to=lambda *_: "a")
