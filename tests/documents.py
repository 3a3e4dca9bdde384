"""Documents for tests: of random numbers, and such as a reader must refuse, with what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from attnviz.attention import MaskKind
from attnviz.document import Axis, Document, Header, StepText, write

Arrays = dict[str, npt.NDArray[Any]]

TEXT = StepText("weights", "Weights", '<math display="block"><mi>W</mi></math>', "", "", "", (("masked", None),))


def random_document(
    n: int, *, width: int = 64, kind: MaskKind = "none", mask: npt.NDArray[Any] | None = None, size: float = 1.0
) -> Document:
    """Return a document of n tokens whose scores have a standard deviation near 8 · size²."""
    drawn = np.random.default_rng(n)
    arrays = {name: (drawn.normal(size=(n, width)) * size).astype(np.float32) for name in ("query", "key", "value")}
    arrays |= {} if mask is None else {"mask": mask}
    return document(n, arrays, kind)


def document(n: int, arrays: Arrays, kind: MaskKind = "none", scale: float = 0.125) -> Document:
    axis = Axis("", None, tuple(map(str, range(n))), (0,) * n)
    return Document(Header("random", axis, axis, 0, 0, scale, kind, (TEXT,)), arrays)


def parts() -> tuple[dict[str, Any], Arrays]:
    """Return the header, as JSON is read, and the arrays of a small document that is valid."""
    document = random_document(2, width=4)
    data = write(document)
    outer = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    arrays = {name: array.copy() for name, array in document.arrays.items()}
    x, weight = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    return json.loads(outer["__metadata__"]["attnviz"]), {**arrays, "embeddings": x, "W_query": weight}


def file(header: object, arrays: Arrays, key: str = "attnviz") -> bytes:
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(arrays, metadata={key: header if isinstance(header, str) else json.dumps(header)})


def changed(change: Callable[[dict[str, Any], Arrays], object]) -> bytes:
    """Return the file of a small document after a change to its header or its arrays."""
    header, arrays = parts()
    change(header, arrays)
    return file(header, arrays)


def _set(**fields: Any) -> bytes:
    return changed(lambda header, _: header.update(fields))


def _step(**fields: Any) -> bytes:
    return changed(lambda header, _: header["steps"][0].update(fields))


def _axis(**fields: Any) -> bytes:
    return changed(lambda header, _: header["query"].update(fields))


def _arrays(**arrays: npt.NDArray[Any]) -> bytes:
    return changed(lambda _, given: given.update(arrays))


def _masked(mask: npt.NDArray[Any]) -> bytes:
    return changed(lambda header, arrays: (header.update(mask="other"), arrays.update(mask=mask)))


NOT_SAFETENSORS = "This is not a safetensors file."
NOT_MATHML = "header.steps[0].formula is not MathML as attnviz writes it."
WORDS = "name, title, formula, notice, fact, code, matrices"


def hostile() -> dict[str, tuple[bytes, str | None]]:
    """Return files that are no document, by what is wrong, with the sentence of both readers; None if they differ."""
    good, large = changed(lambda *_: None), _set(source="x" * 5_000_000)
    large_header = int.from_bytes(large[:8], "little")
    ones = np.ones((2, 4), np.float32)
    bad_byte = bytearray(_masked(np.ones((2, 2), bool)))
    bad_byte[-1] = 2
    return {
        "nothing": (b"", NOT_SAFETENSORS),
        "no length": (good[:7], NOT_SAFETENSORS),
        "cut": (good[:-1], NOT_SAFETENSORS),
        "longer": (good + b"\0", NOT_SAFETENSORS),
        "an endless header": (b"\xff" * 8 + good[8:], NOT_SAFETENSORS),
        "a page": (b"<!doctype html><p>Not found</p>", NOT_SAFETENSORS),
        "a large header": (
            large, f"The file's header has {large_header:,} bytes; a document's has at most 4,194,304."
        ),
        "a model": (file("{}", {"query": ones}, key="format"), "This safetensors file is not a document of attnviz."),
        "no JSON": (file("{", {"query": ones}), "The document's header is not JSON."),
        "NaN as JSON": (_set(scale=float("nan")), "The document's header is not JSON."),
        "deep JSON": (file("[" * 10**5 + "]" * 10**5, {"query": ones}), None),
        "a list": (file("[]", {"query": ones}), "header is not an object with source, query, key, layer, head, scale, "
                   "mask, steps, kind, version."),
        "another version": (
            _set(version=2), "The document's version is not 1, the only one that this reader knows."
        ),
        "another kind": (
            _set(kind="heads"), "The document's kind is not walk, the only one that this reader knows."
        ),
        "one more field": (_step(html=""), f"header.steps[0] is not an object with {WORDS}."),
        "no text": (_step(title=1), "header.steps[0].title is not a text."),
        "no list": (_axis(labels="ab"), "header.query.labels is not a list."),
        "half an id": (_axis(ids=[0, 1.5]), "header.query.ids[1] is not a whole number."),
        "a huge id": (_axis(ids=[0, 2**60]), "header.query.ids[1] is not a whole number."),
        "an endless scale": (_set(scale=10**400), "header.scale is not a number."),
        "no tokens": (_axis(labels=[], ids=[]), "header.query has 0 labels; a document has 1 to 4,096."),
        "many tokens": (
            _axis(labels=["a"] * 5000, ids=[0] * 5000), "header.query has 5,000 labels; a document has 1 to 4,096."
        ),
        "fewer ids": (_axis(ids=[0]), "header.query has 2 labels and 1 ids."),
        "layer -1": (_set(layer=-1), "header.layer and header.head are counted from 0."),
        "an unknown mask": (_set(mask="soft"), "header.mask is not one of none, causal, padding, cross, other."),
        "a script": (_step(formula="<script>alert(1)</script>"), NOT_MATHML),
        "an image": (_step(formula='<math display="block"><img src="x" onerror="alert(1)"></math>'), NOT_MATHML),
        "a link": (_step(formula='<math display="block"><mi href="javascript:alert(1)">x</mi></math>'), NOT_MATHML),
        "a long formula": (
            _step(formula=f'<math display="block">{"x" * 2_000_000}</math>'), NOT_MATHML
        ),
        "two formulas": (_step(formula=TEXT.formula + "\n<p>"), NOT_MATHML),
        "an unknown matrix": (
            _step(matrices=[["__proto__"]]), "header.steps[0].matrices names an unknown matrix."
        ),
        "an unknown array": (_arrays(__proto__=ones), "The document has an array with an unknown name."),
        "no values": (changed(lambda _, arrays: arrays.pop("value")), "Array value is missing."),
        "a mask unasked": (_arrays(mask=np.ones((2, 2), bool)), "A mask of the kind none has no array."),
        "no mask": (_set(mask="padding"), "A mask of the kind padding has an array."),
        "fewer rows than labels": (_arrays(query=ones[:1]), "Array query is 1 × 4; it must be 2 × 4."),
        "another width": (_arrays(key=ones[:, :3]), "Array key is 2 × 3; it must be 2 × 4."),
        "another model": (_arrays(W_query=ones), "Array W_query is 2 × 4; it must be 3 × dim."),
        "one axis": (_arrays(embeddings=ones[0]), "Array embeddings is 4; it must be 2 × model."),
        "no columns": (_arrays(value=ones[:, :0]), "Array value is 2 × 0; it must be 2 × value_dim."),
        "doubles": (_arrays(value=ones.astype(float)), "The document has an array that is neither F32 nor BOOL."),
        "bool values": (_arrays(value=ones.astype(bool)), "Array value is not float32."),
        "NaN": (_arrays(value=ones * np.nan), "Array value holds a number that is not finite."),
        "infinity": (_arrays(value=ones * -np.inf), "Array value holds a number that is not finite."),
        "a mask of +inf": (
            _masked(np.full((2, 2), np.inf, np.float32)), "Array mask holds a number that is not finite."
        ),
        "a byte": (bytes(bad_byte), "Array mask holds a byte that is neither 0 nor 1."),
    }  # fmt: skip
