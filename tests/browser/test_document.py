"""Documents in the browser: read as Python wrote them, and the matrices derived from them, against torch."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from attnviz.attention import Masked
from attnviz.document import Document, Header, document_of, document_of_layer, write
from attnviz.document.files import SAID, said_to_json
from attnviz.toy.config import ToyConfig
from attnviz.trace.head_norm import HeadNorm
from attnviz.trace.matrices import find_matrix
from tests.browser.modules import BASE64, BYTES, CORE, Run
from tests.documents import NOT_MATHML, changed, document, of_both, random_document, unsafe
from tests.loaded import built_in_model
from tests.toy import run_block
from tests.unit.document.test_pictures import BLOCKS, averages, block

DERIVE = f"""
  {BYTES} {BASE64}
  const {{ read }} = await import("{CORE}/document.ts");
  const names = ["scores", "scaled", "masked", "weights", "head_outputs"];
  return given.map((file) => {{
    const matrices = m.matricesOf(read(bytes(file)), 0);
    return Object.fromEntries(names.map((name) => [name, base64(matrices.get(name))]));
  }});
"""


def array(sent: dict[str, Any]) -> npt.NDArray[Any]:
    dtype = {"F32": np.float32, "BOOL": np.bool_, "U8": np.uint8}[sent["type"]]
    return np.frombuffer(b64decode(sent["data"]), dtype).reshape(sent["shape"])


def derived(run: Run, documents: Iterable[Document]) -> Iterator[tuple[Document, dict[str, Tensor]]]:
    """Yield each document with the matrices that the browser computes from it."""
    documents = [*documents]
    found = run("walk/matrices.ts", DERIVE, [b64encode(write(given)).decode() for given in documents])
    for given, matrices in zip(documents, found, strict=True):
        yield given, checked(given, matrices)


def checked(given: Document, found: dict[str, Any]) -> dict[str, Tensor]:
    """Check which cells are hidden; return the matrices with what torch has there."""
    steps = {name: torch.tensor(array(sent)) for name, sent in found.items()}
    hidden = mask_of(given, torch.float32).isneginf()
    assert torch.equal(steps["masked"].isnan(), hidden)  # hidden cells, and no others
    steps["masked"] = steps["masked"].masked_fill(hidden, held(given))
    rows = hidden.all(-1, keepdim=True) if given.header.mask_value is not None else torch.zeros(1, 1).bool()
    assert torch.equal(steps["weights"].isnan(), hidden & ~rows)  # such a row has weights
    steps["weights"] = steps["weights"].nan_to_num(0.0)
    return steps


def held(given: Document) -> float:
    """Return what a hidden cell holds."""
    value, scale = given.header.mask_value, given.header.scale
    return -torch.inf if value is None else value * (scale if given.header.mask_fills == "scores" else 1)


def mask_of(given: Document, dtype: torch.dtype) -> Tensor:
    """Return what is added to the scaled scores, (Tq, Tk)."""
    n = len(given.header.query.labels)
    if given.header.mask == "causal":
        cells = torch.ones(n, n, dtype=torch.bool).tril()
    else:
        cells = torch.tensor(given.arrays["mask"]) if "mask" in given.arrays else torch.ones(n, n, dtype=torch.bool)
    return (
        cells.to(dtype) if cells.is_floating_point() else torch.zeros(n, n, dtype=dtype).masked_fill(~cells, -torch.inf)
    )


def torchs(given: Document, dtype: torch.dtype) -> dict[str, Tensor]:
    """Compute scores to weights with torch in this precision, head outputs in double precision.

    A row without a visible key has zeros.
    """
    mask, scale = mask_of(given, dtype), given.header.scale
    state = next((state for state in ("rotated_", "normed_") if f"{state}query/0" in given.arrays), "")
    names = (f"{state}query", f"{state}key", "value")
    query, key, value = (torch.tensor(given.arrays[f"{name}/0"]).double() for name in names)
    scores = query.to(dtype) @ key.to(dtype).T
    masked = scores * scale + mask
    weights = F.softmax(masked, dim=-1).nan_to_num(0.0)
    outputs = F.scaled_dot_product_attention(
        *(x[None] for x in (query, key, value)), attn_mask=mask.double(), scale=scale
    )
    outputs = outputs[0].masked_fill(mask.isneginf().all(-1, keepdim=True), 0.0)
    return {"scores": scores, "scaled": scores * scale, "masked": masked, "weights": weights, "head_outputs": outputs}


def compare(ours: dict[str, Tensor], expected: dict[str, Tensor], of_largest: float = 0.0) -> None:
    """Compare: weights within 1e-6, scores within 1e-5 relative, or `of_largest` of the largest score."""
    assert ours.keys() == expected.keys()
    largest = float(expected["scores"].abs().max())
    for name, matrix in ours.items():
        assert matrix.dtype == torch.float32
        by_size = name in ("scores", "scaled", "masked")
        rtol, atol = (1e-5, of_largest * largest) if by_size else (0.0, 1e-6 if name == "weights" else 1e-5)
        torch.testing.assert_close(
            matrix.double(),
            expected[name].double(),
            rtol=rtol,
            atol=atol,
            msg=partial("{}: {}".format, name),
        )


def hidden(n: int, kind: str) -> Document:
    """Return a random document with a mask of this kind."""
    cells = np.ones((n, n), bool)
    if kind in ("none", "causal"):
        return random_document(n, kind=kind)  # type: ignore[arg-type]
    if kind == "padding":
        cells[:, n - n // 3 :] = False
        return random_document(n, kind="padding", mask=cells)
    if kind == "hidden rows":
        cells = np.random.default_rng(n).random((n, n)) < 0.5
        cells[:: max(1, n // 4)] = False
        return random_document(n, kind="other", mask=cells)
    added = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    return random_document(n, kind="other", mask=np.where(np.tri(n, dtype=bool), added, np.float32(-np.inf)))


@pytest.mark.parametrize("kind", ["none", "causal", "padding", "hidden rows", "added"])
def test_derived_matrices_are_torchs(run: Run, kind: str) -> None:
    sizes = (1, 16, 512) if kind == "causal" else (1, 16)
    for given, ours in derived(run, (hidden(n, kind) for n in sizes)):
        compare(ours, torchs(given, torch.float64))
        compare(ours, torchs(given, torch.float32), of_largest=1e-6)  # whose own sums are rounded
        empty = mask_of(given, torch.float32).isneginf().all(-1)
        assert bool(empty.any()) == (kind == "hidden rows")
        assert ours["weights"][empty].count_nonzero() == ours["head_outputs"][empty].count_nonzero() == 0


def test_scores_are_of_turned_queries_and_keys(run: Run) -> None:
    configs = (ToyConfig(positions="rotary", head_size=5), ToyConfig(positions="rotary", causal=True, bias=True))
    texts = (document_of_layer(run_block(range(9), config).walk(0, 0)) for config in configs)
    for given, ours in derived(run, texts):
        compare(ours, torchs(given, torch.float64))
        assert not np.allclose(given.arrays["query/0"], given.arrays["rotated_query/0"])


def test_a_soft_cap_and_a_sink_come_after_turned_queries_and_keys(run: Run) -> None:
    config = ToyConfig(positions="rotary", cap=1.5, sink=0.5, window=3, causal=True, scale="off")
    walk = run_block(range(9), config).walk(0, 1)
    body = f"""
      {BYTES} {BASE64}
      const {{ read }} = await import("{CORE}/document.ts");
      const matrices = m.matricesOf(read(bytes(given)), 1);
      const names = ["scores", "scaled", "capped", "masked", "weights", "sink", "row_sum", "head_outputs"];
      return Object.fromEntries(names.map((name) => [name, base64(matrices.get(name))]));
    """
    computed = run("walk/matrices.ts", body, b64encode(write(document_of_layer(walk))).decode())
    assert not np.allclose(walk.layer.projected("query"), walk.layer.query)
    for name, encoded in computed.items():
        ours, theirs = array(encoded), find_matrix(walk, name)
        assert theirs is not None
        hidden = walk.steps.hidden if name in ("masked", "weights") else torch.zeros_like(theirs, dtype=torch.bool)
        assert bool(np.isnan(ours[hidden.numpy()]).all()), name
        np.testing.assert_allclose(ours[~hidden.numpy()], theirs[~hidden], rtol=1e-5, atol=1e-5, err_msg=name)


def test_scores_are_of_normed_queries_and_keys_where_nothing_turns_them(run: Run) -> None:
    layer = run_block(range(9), ToyConfig(positions="none")).layer(0)
    assert layer.query_input is not None
    norms = {name: HeadNorm("rms", torch.rand(2, 8), None, 1e-6) for name in ("query", "key")}
    normed = replace(layer, norms=norms)  # type: ignore[arg-type]
    query, key = normed.operands_of(layer.query_input, layer.query_input).values()
    walk = replace(run_block(range(9), ToyConfig()).walk(0, 0), layer=replace(normed, query=query, key=key))
    ((given, ours),) = derived(run, [document_of_layer(walk)])
    assert not np.allclose(given.arrays["query/0"], given.arrays["normed_query/0"])
    compare(ours, torchs(given, torch.float64))


ANGLES = f"""
  {BYTES} {BASE64}
  const {{ read }} = await import("{CORE}/document.ts");
  const document = read(bytes(given));
  const matrices = m.matricesOf(document, 1);
  return {{
    angles: ["query_angles", "key_angles", "key_t"].map((name) => base64(matrices.get(name))),
    names: [m.operandNames(document, ["query", "key", "value", "mask", "cos"]), matrices.missingOfRows],
  }};
"""


def test_angles_are_those_of_the_tables_and_keys_are_transposed_after_they_are_turned(run: Run) -> None:
    walk = run_block(range(9), ToyConfig(positions="rotary")).walk(0, 1)
    found = run("walk/matrices.ts", ANGLES, b64encode(write(document_of_layer(walk))).decode())
    query_angles, key_angles, key_t = map(array, found["angles"])
    assert walk.layer.rotation is not None
    np.testing.assert_allclose(query_angles, walk.layer.rotation.angles, atol=1e-6)
    np.testing.assert_array_equal(query_angles, key_angles)
    np.testing.assert_array_equal(key_t, walk.layer.key[1].T)
    assert found["names"] == [["rotated_query", "rotated_key", "value", "mask", "cos"], []]


def test_what_is_referred_to_of_a_turned_head_is_missing_until_it_has_come(run: Run) -> None:
    walk = run_block(range(4), ToyConfig(positions="rotary")).walk(0, 1)
    held = document_of_layer(walk, refer_to=lambda name, _: f"d-{name}" if name.endswith("query/1") else None)
    names = run(
        "walk/matrices.ts",
        f"""
          {BYTES}
          const {{ read }} = await import("{CORE}/document.ts");
          const matrices = m.matricesOf(read(bytes(given)), 1);
          const names = ["query", "scores", "rotated_query", "head_outputs", "query_angles"];
          return names.map((name) => matrices.missing(name));
        """,
        b64encode(write(held)).decode(),
    )
    assert names == [["query/1"], ["rotated_query/1"], ["rotated_query/1"], ["rotated_query/1"], []]


@pytest.mark.parametrize("fills", ["scaled", "scores"])
@pytest.mark.parametrize("kind", ["causal", "hidden rows"])
def test_a_finite_number_in_hidden_cells_gives_the_weights_of_masked_fill(run: Run, kind: str, fills: Masked) -> None:
    given = hidden(16, kind)
    given = Document(replace(given.header, mask_value=-1e10, mask_fills=fills), given.arrays)
    ((_, ours),) = derived(run, [given])
    seen = ~mask_of(given, torch.float64).isneginf()
    query, key, value = (torch.tensor(given.arrays[f"{name}/0"]).double() for name in ("query", "key", "value"))
    scores, scale = query @ key.T, given.header.scale
    masked = (
        scores.masked_fill(~seen, -1e10) * scale if fills == "scores" else (scores * scale).masked_fill(~seen, -1e10)
    )
    weights = F.softmax(masked, dim=-1)
    expected = {"scores": scores, "scaled": scores * scale, "masked": masked, "weights": weights}
    compare(ours, {**expected, "head_outputs": weights @ value})
    empty = ~seen.any(-1)
    assert bool(empty.any()) == (kind == "hidden rows")
    torch.testing.assert_close(ours["weights"][empty], torch.full((int(empty.sum()), 16), 1 / 16))


@pytest.mark.parametrize(
    ("n", "kind"),
    [(1, "none"), *((16, kind) for kind in ("none", "causal", "padding", "hidden rows")), (100, "causal")],
)
def test_scores_of_ten_thousand(run: Run, n: int, kind: str) -> None:
    """In double precision for any such scores, and in torch's own where its float32 sums are exact: of halves."""
    given = hidden(n, kind)
    drawn = np.random.default_rng(n)
    query, key = (np.rint(drawn.normal(size=(n, 64)) * 16).astype(np.float32) / 2 for _ in range(2))
    query[0], key[0], key[-1] = 12.5, 12.5 if n > 1 else -12.5, -12.5
    halves = {"query/0": query, "key/0": key}
    large = {name: given.arrays[name] * np.float32(20) for name in ("query/0", "key/0")}
    documents = (document(n, {**given.arrays, **other}, given.header.mask) for other in (halves, large))
    (exact, ours), (real, others) = derived(run, documents)
    assert float(ours["scores"][0, -1]) == -10_000
    assert float(ours["scores"][0, 0]) == (10_000 if n > 1 else -10_000)
    compare(ours, torchs(exact, torch.float32))
    compare(others, torchs(real, torch.float64))


def documents() -> dict[str, Document]:
    causal = run_block((4, 8, 15, 16), ToyConfig(causal=True), ("🙂", "<b>", "\0", "d")).walk(0, 1)

    def refer(name: str, _: int) -> str | None:
        return "d-1" if name.startswith("W") else None

    return {
        "toy": document_of(causal),
        "layer": document_of_layer(causal, thumbnails=True, refer_to=refer),
        "minilm": document_of(built_in_model().trace("The cat sat on the mat.").walk(3, 5)),
        "averages": document_of(averages(5)),
        **{name: document_of(block(*of)) for name, of in BLOCKS.items()},
        "rotary": document_of(run_block(range(5), ToyConfig(positions="rotary", heads=3)).walk(0, 2)),
        "buckets": document_of(run_block(range(5), ToyConfig(positions="buckets")).walk(0, 1)),
        "random": random_document(7, kind="padding", mask=np.ones((7, 7), bool)),
    }


USUAL = {
    "cap": None,
    "buckets": None,
    "mask_reasons": None,
    "shared_by": 1,
    "guesses_at": "",
    "guesses_note": "",
}
"""What is left out of a file"""


def as_json(header: Header) -> dict[str, Any]:
    """Return a header as JSON is read, with the marks of its texts."""
    made: dict[str, Any] = json.loads(json.dumps(asdict(header)))
    for name, usual in USUAL.items():
        if made[name] == usual:
            del made[name]
    for step, own in zip(made["steps"], header.steps, strict=True):
        for name in SAID:
            step[name] = said_to_json(getattr(own, name))
    return made


def test_the_browser_reads_what_python_writes(run: Run) -> None:
    """Wherever the bytes of a file begin in memory."""
    body = f"""
      {BYTES} {BASE64}
      return given.flatMap((text) => [0, 1].map((shift) => {{
        const file = bytes(text);
        const moved = new Uint8Array(file.length + shift).subarray(shift);
        moved.set(file);
        const {{ header, arrays }} = m.read(moved);
        const sent = Object.entries(arrays).map(([array, matrix]) => [array, base64(matrix)]);
        return {{ header, same: header.key === header.query, arrays: Object.fromEntries(sent) }};
      }}));
    """
    given = [one for one in documents().values() for _ in (0, 1)]
    read = run("core/document.ts", body, [b64encode(write(one)).decode() for one in given[::2]])
    for seen, one in zip(read, given, strict=True):
        assert seen["same"] == (one.header.key == one.header.query)
        assert seen["header"] == as_json(one.header)
        assert seen["arrays"].keys() == one.arrays.keys()
        for key, sent in seen["arrays"].items():
            np.testing.assert_array_equal(array(sent), one.arrays[key])


READ_ALL = f"""
  {BYTES}
  return given.files.map((file) => {{
    try {{ m[given.reader](bytes(file)); return null; }} catch (error) {{ return [error.name, error.message]; }}
  }});
"""


def refusals(run: Run, files: Iterable[bytes], module: str = "document", reader: str = "read") -> list[Any]:
    """Read files by a function of a module; return of each the name of the error and what it says, or None."""
    coded = [b64encode(data).decode() for data in files]
    found: list[Any] = run(f"core/{module}.ts", READ_ALL, {"files": coded, "reader": reader})
    return found


def damaged(good: bytes, seed: int) -> list[bytes]:
    """Return 400 copies of a file, each with another bit changed."""
    drawn, files = np.random.default_rng(seed), []
    for _ in range(400):
        data = bytearray(good)
        data[drawn.integers(len(data))] ^= 1 << int(drawn.integers(8))
        files.append(bytes(data))
    return files


def test_the_browser_refuses_what_python_refuses_in_the_same_words(run: Run) -> None:
    files = of_both()
    found = refusals(run, (data for data, _ in files.values()))
    assert dict(zip(files, found, strict=True)) == {name: ["DocumentError", why] for name, (_, why) in files.items()}


def test_markup_that_a_page_may_not_insert_is_refused(run: Run) -> None:
    files = unsafe()
    assert refusals(run, files.values()) == [["DocumentError", NOT_MATHML]] * len(files)


def test_damaged_files_are_refused_or_read(run: Run) -> None:
    """Whatever a proxy does to the bytes, reading ends with a document or with a sentence."""
    found = refusals(run, damaged(changed(lambda *_: None), 0))
    assert {refusal[0] for refusal in found if refusal} == {"DocumentError"}
