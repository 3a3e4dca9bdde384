"""Payloads in the browser: read as Python wrote them, in place, and refused in one sentence where they are damaged."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from attnviz.components.payload import write_payload
from tests.browser.apps.operands import HOSTILE
from tests.browser.modules import BASE64, BYTES, Run
from tests.browser.test_document import damaged, refusals
from tests.payloads import read_payload

RNG = np.random.default_rng(0)
HEADER = {"tokens": ["🙂", HOSTILE, "\u202e", '"\\'], "q": None, "scale": 1e-320, "own": {"__proto__": 1}}
ARRAYS = {
    "bytes": RNG.integers(0, 256, (1, 3, 1), dtype=np.uint8),
    "floats": np.array([[0.1, -np.inf], [3e38, np.nan]], np.float32),
    "codes": RNG.integers(0, 2**16, (5,), dtype=np.uint16),
    "none": np.zeros((0, 4), np.float32),
    "scalar": np.array(0.35, np.float32),
}
DTYPES = {"F32": np.float32, "U16": np.uint16, "U8": np.uint8}


@pytest.mark.parametrize("shift", [0, 1, 2, 3, 4])
def test_the_browser_reads_in_place_what_python_writes(run: Run, shift: int) -> None:
    body = f"""
      {BYTES} {BASE64}
      const file = bytes(given);
      const all = new Uint8Array(file.length + {shift});
      all.set(file, {shift});
      const {{ header, arrays }} = m.readPayload(all.subarray({shift}));
      const sent = Object.entries(arrays).map(([name, array]) => [name, base64(array)]);
      const inPlace = Object.entries(arrays).map(([name, {{ data }}]) => [name, data.buffer === all.buffer]);
      return [JSON.stringify(header), Object.fromEntries(sent), Object.fromEntries(inPlace)];
    """
    payload = write_payload(HEADER, ARRAYS)
    header, arrays, in_place = run("core/payload.ts", body, b64encode(payload).decode())
    assert json.loads(header) == HEADER == read_payload(payload)[0]
    own = load(payload)  # safetensors' own reader
    assert arrays.keys() == own.keys()
    for name, sent in arrays.items():
        dtype = DTYPES[sent["type"]]
        assert dtype == own[name].dtype
        assert tuple(sent["shape"]) == own[name].shape
        assert b64decode(sent["data"]) == own[name].tobytes() == ARRAYS[name].tobytes()
    assert in_place == {name: shift % array.itemsize == 0 for name, array in ARRAYS.items()}


def changed(**said: Any) -> bytes:
    """Return a payload of two float32 numbers whose list of arrays says something else of them."""
    payload = save({"x": np.ones(2, np.float32)}, {"header": "{}"})
    end = 8 + int.from_bytes(payload[:8], "little")
    outer = json.loads(payload[8:end])
    outer["x"] |= said
    text = json.dumps(outer).encode()
    return len(text).to_bytes(8, "little") + text + payload[end:]


GOOD = write_payload({"step": "scores"}, {"x": np.ones(2, np.float32)})
NOT_SAFETENSORS = "This is not a safetensors file."
NOT_OBJECT = "The payload's header is not a JSON object."
OTHER_DTYPE = "The payload has an array that is neither F32, U16 nor U8."
ONE = {"x": np.ones(2, np.float32)}
REFUSED = {
    "nothing": (b"", NOT_SAFETENSORS),
    "no length": (GOOD[:7], NOT_SAFETENSORS),
    "cut in the header": (GOOD[:20], NOT_SAFETENSORS),
    "cut": (GOOD[:-1], NOT_SAFETENSORS),
    "longer": (GOOD + b"\0", NOT_SAFETENSORS),
    "an endless header": (b"\xff" * 8 + GOOD[8:], NOT_SAFETENSORS),
    "a header of no bytes": (bytes(8) + GOOD[8:], NOT_SAFETENSORS),
    "more numbers than bytes": (changed(shape=[3]), NOT_SAFETENSORS),
    "endless numbers": (changed(shape=[2**53 - 1, 2**53 - 1]), NOT_SAFETENSORS),
    "numbers of nothing": (changed(shape=[-2]), NOT_SAFETENSORS),
    "half a number": (changed(shape=[0.5]), NOT_SAFETENSORS),
    "bytes outside": (changed(data_offsets=[8, 16]), NOT_SAFETENSORS),
    "bytes before": (changed(data_offsets=[-8, 0]), NOT_SAFETENSORS),
    "bytes that are not a list": (changed(data_offsets={"0": 0, "1": 8}), NOT_SAFETENSORS),
    "a dtype of another size": (changed(dtype="U16"), NOT_SAFETENSORS),
    "no dtype": (changed(dtype=None), NOT_SAFETENSORS),
    "a dtype that JavaScript has": (changed(dtype="constructor"), OTHER_DTYPE),
    "doubles": (save({"x": np.ones(2)}, {"header": "{}"}), OTHER_DTYPE),
    "booleans": (save({"x": np.ones(2, bool)}, {"header": "{}"}), OTHER_DTYPE),
    "half precision": (save({"x": np.ones(2, np.float16)}, {"header": "{}"}), OTHER_DTYPE),
    "no metadata": (save(ONE), "The payload has no header."),
    "no header": (save(ONE, {"format": "np"}), "The payload has no header."),
    "no JSON": (save(ONE, {"header": "{"}), NOT_OBJECT),
    "a number that JSON lacks": (save(ONE, {"header": '{"scale": NaN}'}), NOT_OBJECT),
    "a list": (save(ONE, {"header": "[]"}), NOT_OBJECT),
    "null": (save(ONE, {"header": "null"}), NOT_OBJECT),
    "deep JSON": (save(ONE, {"header": "[" * 10**5 + "]" * 10**5}), NOT_OBJECT),
}


def test_what_is_no_payload_is_refused_in_one_sentence(run: Run) -> None:
    large = save(ONE, {"header": json.dumps({"text": "x" * 5_000_000})})
    length = int.from_bytes(large[:8], "little")
    sentence = f"The file's header has {length:,} bytes; a payload's has at most 4,194,304."
    files = {**REFUSED, "a large header": (large, sentence)}
    found = refusals(run, (data for data, _ in files.values()), "payload", "readPayload")
    assert dict(zip(files, found, strict=True)) == {name: ["DocumentError", why] for name, (_, why) in files.items()}


def test_damaged_payloads_are_refused_or_read(run: Run) -> None:
    found = refusals(run, damaged(write_payload(HEADER, ARRAYS), 1), "payload", "readPayload")
    assert {refusal[0] for refusal in found if refusal} == {"DocumentError"}
