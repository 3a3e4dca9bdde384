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
from tests.damage import OPERATIONS, marks

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
    n: int, *, width: int = 64, kind: MaskKind = "none", mask: npt.NDArray[Any] | None = None, size: float = 1.0
) -> Document:
    """Return a document of n tokens whose scores have a standard deviation near 8 · size²."""
    drawn = np.random.default_rng(n)
    names = ("query/0", "key/0", "value/0")
    arrays = {name: (drawn.normal(size=(n, width)) * size).astype(np.float32) for name in names}
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


def _averages(mask: str = "causal", **arrays: npt.NDArray[Any]) -> bytes:
    """Return the file of a document of averages, with X of width 3, and with these arrays."""
    names = ("embeddings", "by_loop", "by_matrix", "by_softmax")
    x = dict.fromkeys(names, np.ones((2, 3), np.float32)) | arrays
    kind = {"kind": "averages", "heads_in_layer": 1, "mask": mask}
    return changed(lambda header, given: (header.update(kind), given.update(x)))


def _panel(number: int = 0, **fields: Any) -> bytes:
    return changed(lambda header, _: header["steps"][0]["picture"]["panels"][number].update(fields))


def _picture(**fields: Any) -> bytes:
    return changed(lambda header, _: header["steps"][0]["picture"].update(fields))


def _product(**operands: Any) -> bytes:
    """Return the file of a document whose weights are said to be this product."""
    return _picture(products={"weights": {"left": "query", "right": "key_t", "bias": None, **operands}})


def _operation(others: dict[str, Any] | None = None, **fields: Any) -> bytes:
    """Return the file of a document whose weights are said to be this operation, by default a softmax of themselves."""
    softmax = {"kind": "softmax", "of": ["weights"], **dict.fromkeys(("weight", "bias", "eps", "over", "name"))}
    return _picture(operations={"weights": {**softmax, **fields}}, **(others or {}))


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
WORDS = (
    "name, title, formula, notice, fact, advice, code, missing, is_by_cell, can_be_covered, can_be_stretched, picture"
)
PICTURE = "header.steps[0].picture"
NOT_A_PANEL = f"{PICTURE}.panels[0] is not as the format says."
NO_PRODUCT = f"{PICTURE}.products are not products of its panels."
NO_OPERATION = f"{PICTURE}.operations are not operations on its panels."
NO_PLACE = "A document of the kind block has a place, and no other has one."
NO_MATRIX = f"{PICTURE}.panels[0] shows a matrix that the document does not have."


HEADS = "header.heads are not heads of the layer in ascending order."


def _take_away(header: dict[str, Any], arrays: Arrays) -> None:
    del arrays["value/0"]
    header["references"]["value/0"] = {"digest": "a", "dtype": "F32", "shape": [2, 4]}


def _two_masks() -> Arrays:
    return {"mask": np.ones((2, 2), bool), "mask/0": np.ones((2, 2), bool)}


def hostile() -> dict[str, tuple[bytes, str | None]]:
    """Return files that are no document, by what is wrong, with the sentence of both readers; None if they differ."""
    good, large = changed(lambda *_: None), _set(model="x" * 5_000_000)
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
        "a list": (file("[]", {"query": ones}), "header is not an object with model, attention, layer, heads, "
                   "heads_in_layer, query, key, scale, scale_label, mask, mask_value, mask_fills, steps, references, "
                   "kind, place, version."),
        "another version": (
            _set(version=1), "The document's version is not 5, the only one that this reader knows."
        ),
        "another kind": (
            _set(kind="heads"), "The document's kind is not one of walk, averages, block."
        ),
        "a list of kinds": (_set(kind=["walk"]), "The document's kind is not one of walk, averages, block."),
        "a block without a place": (_set(kind="block"), NO_PLACE),
        "a place of a walk": (_set(place="encoder block 0"), NO_PLACE),
        "a place that is none": (_set(place=0), "header.place is not a text."),
        "averages without the loop": (_set(kind="averages"), "Array by_loop is missing."),
        "averages without a mask": (_averages("none"), "A document of averages has one head and a causal mask of −∞."),
        "averages of another shape": (
            _averages(by_loop=np.ones((2, 4), np.float32)), "Array by_loop is 2 × 4; it must be 2 × 3."
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
        "layer -1": (_set(layer=-1), "header.layer is counted from 0."),
        "no heads": (_set(heads=[]), HEADS),
        "heads twice": (_set(heads=[0, 0]), HEADS),
        "a head beyond the layer": (_set(heads=[0, 2]), HEADS),
        "head -1": (_set(heads=[-1]), HEADS),
        "endless heads": (_set(heads_in_layer=10**9), "header.heads_in_layer is not from 1 to 1,024."),
        "an unknown kind of attention": (
            _set(attention="both"), "header.attention is not one of encoder, decoder, cross."
        ),
        "two texts for a head": (_step(fact=["", ""]), "header.steps[0].fact has 2 texts for 1 heads."),
        "a text that is none": (_step(code=[1]), "header.steps[0].code is not a text or a list of texts."),
        **{f"a mark {why}": (_step(fact=fact), sentence) for why, (fact, sentence) in marks().items()},
        "an unknown place of a mask": (_set(mask_fills="weights"), "header.mask_fills is not one of scaled, scores."),
        "a mask of a word": (_set(mask_value="-inf"), "header.mask_value is not a number or null."),
        "an unknown mask": (
            _set(mask="soft"), "header.mask is not one of none, causal, window, padding, cross, other.",
        ),
        "a script": (_step(formula="<script>alert(1)</script>"), NOT_MATHML),
        "an image": (_step(formula='<math display="block"><img src="x" onerror="alert(1)"></math>'), NOT_MATHML),
        "a link": (_step(formula='<math display="block"><mi href="javascript:alert(1)">x</mi></math>'), NOT_MATHML),
        "a long formula": (
            _step(formula=f'<math display="block">{"x" * 2_000_000}</math>'), NOT_MATHML
        ),
        "two formulas": (_step(formula=f"{TEXT.formula}\n<p>"), NOT_MATHML),
        "a script for a head": (_step(formula=["<script>"]), NOT_MATHML),
        "no switch": (_step(is_by_cell=1), "header.steps[0].is_by_cell is not true or false."),
        "a picture of nothing": (_picture(panels=[], grid=[]), f"{PICTURE} has 0 panels; a picture has 1 to 16."),
        "no picture": (_step(picture=[]), f"{PICTURE} is not an object with panels, grid, widths, heights, products, "
                       "operations, between."),
        "an unknown matrix": (_panel(name="__proto__"), NO_MATRIX),
        "a matrix that is not there": (_panel(name="W_value"), NO_MATRIX),
        "joined heads that are not there": (_panel(name="concat"), NO_MATRIX),
        "a limit that is not there": (_panel(limit=["concat"]), NO_MATRIX),
        "an empty limit": (_panel(limit=[]), NOT_A_PANEL),
        "a limit of 0": (_panel(limit=0), NOT_A_PANEL),
        "rows of another kind": (_panel(rows="key"), NOT_A_PANEL),
        "an unknown role": (_panel(role="toString"), NOT_A_PANEL),
        "an unknown scale": (_panel(scale="log"), NOT_A_PANEL),
        "an unknown pace": (_panel(made_from={"name": "scores", "pace": "slow"}), NOT_A_PANEL),
        "made from nothing": (_panel(made_from={"name": "constructor", "pace": "even"}), NOT_A_PANEL),
        "parts that do not fit": (_panel(part_width=3), NOT_A_PANEL),
        "parts of no width": (_panel(part_width=0), NOT_A_PANEL),
        "a tick beyond the columns": (_panel(ticks={"4": "a"}), NOT_A_PANEL),
        "a tick that is no column": (
            _panel(ticks={"1e1": "a"}), f"{PICTURE}.panels[0].ticks is not texts by column."
        ),
        "two titles for a head": (_panel(title=["a", "b"]), f"{PICTURE}.panels[0].title has 2 texts for 1 heads."),
        "a panel placed twice": (
            _picture(grid=[[0, 1], [2, 2]]), f"{PICTURE}.grid does not place each panel once."
        ),
        "a place that is no panel": (
            _picture(grid=[[0, 1], [3, 2]]), f"{PICTURE}.grid does not place each panel once."
        ),
        "a row too long": (
            _picture(grid=[[0, 1, None], [None, 2]]), f"{PICTURE} has widths and heights that do not fit its grid."
        ),
        "no width": (_picture(widths=[1, 0]), f"{PICTURE} has widths and heights that do not fit its grid."),
        "a product of what is not shown": (_product(right="key"), NO_PRODUCT),
        "a product of other shapes": (_product(left="weights"), NO_PRODUCT),
        "a bias that is not there": (_product(bias="b_query"), NO_PRODUCT),
        "a product that is none": (_picture(products={"weights": 1}),
                                   f"An entry of {PICTURE}.products is not an object with left, right, bias."),
        **{f"an operation {why}": (_operation(**fields), NO_OPERATION) for why, fields in OPERATIONS.items()},
        "an operation on what is a product": (
            _operation({"products": {"weights": {"left": "query", "right": "key_t", "bias": None}}}), NO_OPERATION
        ),
        "an operation that is none": (_picture(operations={"weights": 1}), f"An entry of {PICTURE}.operations is not "
                                      "an object with kind, of, weight, bias, eps, over, name."),
        "an operation with a text as eps": (_operation(eps="0"), f"An entry of {PICTURE}.operations.eps is not a "
                                            "number or null."),
        "operations in a list": (_picture(operations=[]), f"{PICTURE}.operations is not an object."),
        "hidden numbers of another width": (
            _arrays(W_1=np.ones((3, 5), np.float32), feed_forward_hidden=np.ones((2, 6), np.float32)),
            "Array feed_forward_hidden is 2 × 6; it must be 2 × 5.",
        ),
        "the weight of a norm of another width": (
            _arrays(gamma_final_norm=np.ones(2, np.float32)), "Array gamma_final_norm is 2; it must be 3."
        ),
        "products in a list": (_picture(products=[]), f"{PICTURE}.products is not an object."),
        "an unknown reference": (_reference("__proto__"), "The document has an array with an unknown name."),
        "a reference to what is there": (_reference("query/0"), "Array query/0 is in the file, and not in the file."),
        "a path as a digest": (
            _reference(digest="../admin"), "Array b_query/0 has a digest that is not of letters and digits."
        ),
        "a reference of another type": (_reference(dtype="F64"), "Array b_query/0 is not F32."),
        "a reference of another shape": (_reference(shape=[3]), "Array b_query/0 is 3; it must be 4."),
        "a huge reference": (_reference(shape=[2**40]), "Array b_query/0 has more than 134,217,728 bytes."),
        "a reference of a negative shape": (_reference(shape=[-4]), "Array b_query/0 is -4; it must be 4."),
        "an unknown array": (_arrays(__proto__=ones), "The document has an array with an unknown name."),
        "no values": (changed(lambda _, arrays: arrays.pop("value/0")), "Array value/0 is missing."),
        "values elsewhere": (changed(_take_away), "The file has query, key and value of none of its heads."),
        "a mask unasked": (_arrays(mask=np.ones((2, 2), bool)), "A mask of the kind none has no array."),
        "no mask": (_set(mask="padding"), "A mask of the kind padding has one array, or one for each head."),
        "fewer rows than labels": (_arrays(query_of_0=ones[:1]), "Array query/0 is 1 × 4; it must be 2 × 4."),
        "another width": (_arrays(key_of_0=ones[:, :3]), "Array key/0 is 2 × 3; it must be 2 × 4."),
        "another model": (_arrays(W_query_of_0=ones), "Array W_query/0 is 2 × 4; it must be 3 × dim."),
        "one axis": (_arrays(embeddings=ones[0]), "Array embeddings is 4; it must be 2 × model."),
        "no columns": (_arrays(value_of_0=ones[:, :0]), "Array value/0 is 2 × 0; it must be 2 × value_dim."),
        "doubles": (
            _arrays(value_of_0=ones.astype(float)), "The document has an array that is neither F32, BOOL nor U8."
        ),
        "bool values": (_arrays(value_of_0=ones.astype(bool)), "Array value/0 is not F32."),
        "NaN": (_arrays(value_of_0=ones * np.nan), "Array value/0 holds a number that is not finite."),
        "infinity": (_arrays(value_of_0=ones * -np.inf), "Array value/0 holds a number that is not finite."),
        "a mask of +inf": (
            _masked(np.full((2, 2), np.inf, np.float32)), "Array mask holds a number that is not finite."
        ),
        "a byte": (bytes(bad_byte), "Array mask holds a byte that is neither 0 nor 1."),
        "a mask of bytes": (_masked(np.ones((2, 2), np.uint8)), "Array mask is not F32 or BOOL."),
        "two masks": (
            changed(lambda header, arrays: (header.update(mask="other"), arrays.update(_two_masks()))),
            "A mask of the kind other has one array, or one for each head.",
        ),
        "thumbnails of one head": (
            _arrays(thumbnails=np.ones((1, 2, 2), np.uint8)),
            "Array thumbnails is 1 × 2 × 2; it must be 2 × rows × columns.",
        ),
    }  # fmt: skip
