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
from attnviz.steps.picture import Operation, panel, picture

Arrays = dict[str, npt.NDArray[Any]]

SHOWN = picture(
    ((panel("query", "Q"), panel("key_t", "K")), (None, panel("weights", "A", limit=("masked",)))),
    (1, 1),
    (1, 1),
    operations={"weights": Operation("softmax", ("weights",))},
)
TEXT = StepText(
    "weights", "Weights", '<math display="block"><mi>W</mi></math>', "", "", "", "", "", True, True, True, SHOWN
)


def random_document(
    n: int, *, width: int = 64, kind: MaskKind = "none", mask: npt.NDArray[Any] | None = None
) -> Document:
    """Return a document of n tokens whose scores have a standard deviation near 8."""
    drawn = np.random.default_rng(n)
    names = ("query/0", "key/0", "value/0")
    arrays = {name: drawn.normal(size=(n, width)).astype(np.float32) for name in names}
    arrays |= {} if mask is None else {"mask": mask}
    return document(n, arrays, kind)


def document(n: int, arrays: Arrays, kind: MaskKind = "none", scale: float = 0.125) -> Document:
    labels = tuple(map(str, range(n)))
    axis = Axis("", None, labels, (0,) * n, labels, labels, (0,) * n, (False,) * n)
    header = Header("random", "encoder", 0, (0,), 2, axis, axis, scale, f"{scale:g}", kind, (TEXT,))
    return Document(header, arrays)


def parts() -> tuple[dict[str, Any], Arrays]:
    """Return the header, as JSON is read, and the arrays of a small document that is valid."""
    document = random_document(2, width=4)
    data = write(document)
    outer = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    arrays = {name: array.copy() for name, array in document.arrays.items()}
    x, weight = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    return json.loads(outer["__metadata__"]["attnviz"]), {**arrays, "embeddings": x, "W_query/0": weight}


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
    named = {name.replace("_of_0", "/0"): array for name, array in arrays.items()}
    return changed(lambda _, given: given.update(named))


def _reference(name: str = "b_query/0", **fields: Any) -> bytes:
    reference = {"digest": "a-1_Z", "dtype": "F32", "shape": [4], **fields}
    return changed(lambda header, _: header["references"].update({name: reference}))


def _masked(mask: npt.NDArray[Any]) -> bytes:
    return changed(lambda header, arrays: (header.update(mask="other"), arrays.update(mask=mask)))


NOT_SAFETENSORS = "This is not a safetensors file."
NOT_MATHML = "header.steps[0].formula is not MathML as attnviz writes it."
VERSION = "The document's version is not 6, the only one that this reader knows."
NOT_AS_SAID = "The document's header is not as version 6 says."


def _take_away(header: dict[str, Any], arrays: Arrays) -> None:
    del arrays["value/0"]
    header["references"]["value/0"] = {"digest": "a", "dtype": "F32", "shape": [2, 4]}


def of_both() -> dict[str, tuple[bytes, str]]:
    """Return files that both readers refuse in the same words, by what is wrong, with the sentence."""
    good, large = changed(lambda *_: None), _set(model="x" * 5_000_000)
    large_header = int.from_bytes(large[:8], "little")
    ones = np.ones((2, 4), np.float32)
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
        "deep JSON": (file("[" * 10**5 + "]" * 10**5, {"query": ones}), VERSION),
        "a list": (file("[]", {"query": ones}), VERSION),
        "a number": (file("5", {"query": ones}), VERSION),
        "another version": (_set(version=1), VERSION),
        "doubles": (
            _arrays(value_of_0=ones.astype(float)), "The document has an array that is neither F32, BOOL nor U8."
        ),
    }  # fmt: skip


def unsafe() -> dict[str, bytes]:
    """Return files whose formulas are not MathML that may be put into a page, by what is wrong."""
    return {
        "a script": _step(formula="<script>alert(1)</script>"),
        "an image": _step(formula='<math display="block"><img src="x" onerror="alert(1)"></math>'),
        "a link": _step(formula='<math display="block"><mi href="javascript:alert(1)">x</mi></math>'),
        "a long formula": _step(formula=f'<math display="block">{"x" * 2_000_000}</math>'),
        "two formulas": _step(formula=f"{TEXT.formula}\n<p>"),
        "a script for a head": _step(formula=["<script>"]),
        "no formula": _step(formula=None),
    }


def hostile() -> dict[str, tuple[bytes, str]]:
    """Return files that Python refuses, by what is wrong, with the sentence."""
    ones = np.ones((2, 4), np.float32)
    bad_byte = bytearray(_masked(np.ones((2, 2), bool)))
    bad_byte[-1] = 2
    return {
        **of_both(),
        "one more field": (_step(html=""), NOT_AS_SAID),
        "a field less": (changed(lambda header, _: header.pop("steps")), NOT_AS_SAID),
        "no picture": (_step(picture=[]), NOT_AS_SAID),
        "a mark that names nothing": (_step(fact={"text": "a", "marks": [{"from": 0, "to": 1}]}), NOT_AS_SAID),
        "a scale that is a word": (_set(scale="large"), NOT_AS_SAID),
        "an endless scale": (_set(scale=float("inf")), "header.scale is not finite."),
        "no tokens": (_axis(labels=[], ids=[]), "header.query has 0 labels; a document has 1 to 4,096."),
        "many tokens": (
            _axis(labels=["a"] * 5000, ids=[0] * 5000), "header.query has 5,000 labels; a document has 1 to 4,096."
        ),
        "endless heads": (_set(heads_in_layer=10**9), "header.heads_in_layer is not from 1 to 1,024."),
        "averages of another shape": (
            _arrays(by_loop=np.ones((2, 4), np.float32)), "Array by_loop is 2 × 4; it must be 2 × 3."
        ),
        "hidden numbers of another width": (
            _arrays(W_1=np.ones((3, 5), np.float32), feed_forward_hidden=np.ones((2, 6), np.float32)),
            "Array feed_forward_hidden is 2 × 6; it must be 2 × 5.",
        ),
        "the weight of a norm of another width": (
            _arrays(gamma_final_norm=np.ones(2, np.float32)), "Array gamma_final_norm is 2; it must be 3."
        ),
        "an unknown reference": (_reference("__proto__"), "The document has an array with an unknown name."),
        "a reference of another shape": (_reference(shape=[3]), "Array b_query/0 is 3; it must be 4."),
        "a reference of a negative shape": (_reference(shape=[-4]), "Array b_query/0 is -4; it must be 4."),
        "an unknown array": (_arrays(__proto__=ones), "The document has an array with an unknown name."),
        "no values": (changed(lambda _, arrays: arrays.pop("value/0")), "Array value/0 is missing."),
        "values elsewhere": (changed(_take_away), "The file must have query, key and value of at least one head."),
        "fewer rows than labels": (_arrays(query_of_0=ones[:1]), "Array query/0 is 1 × 4; it must be 2 × 4."),
        "another width": (_arrays(key_of_0=ones[:, :3]), "Array key/0 is 2 × 3; it must be 2 × 4."),
        "another model": (_arrays(W_query_of_0=ones), "Array W_query/0 is 2 × 4; it must be 3 × dim."),
        "one axis": (_arrays(embeddings=ones[0]), "Array embeddings is 4; it must be 2 × model."),
        "no columns": (_arrays(value_of_0=ones[:, :0]), "Array value/0 is 2 × 0; it must be 2 × value_dim."),
        "bool values": (_arrays(value_of_0=ones.astype(bool)), "Array value/0 is not F32."),
        "NaN": (_arrays(value_of_0=ones * np.nan), "Array value/0 holds a number that is not finite."),
        "infinity": (_arrays(value_of_0=ones * -np.inf), "Array value/0 holds a number that is not finite."),
        "a mask of +inf": (
            _masked(np.full((2, 2), np.inf, np.float32)), "Array mask holds a number that is not finite."
        ),
        "a byte": (bytes(bad_byte), "Array mask holds a byte that is neither 0 nor 1."),
        "a mask of bytes": (_masked(np.ones((2, 2), np.uint8)), "Array mask is not F32 or BOOL."),
        "thumbnails of one head": (
            _arrays(thumbnails=np.ones((1, 2, 2), np.uint8)),
            "Array thumbnails is 1 × 2 × 2; it must be 2 × rows × columns.",
        ),
    }  # fmt: skip
