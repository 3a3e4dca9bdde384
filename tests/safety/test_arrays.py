"""Arrays under digests on a running server: who was offered one gets it, once made for all, and nobody else any."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPMessage
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from safetensors.numpy import load
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from attnviz.serving.arrays import PATH
from tests.browser.server import Server
from tests.payloads import read_payload
from tests.safety.client import Visitor
from tests.safety.server import SECRET, status


def get(server: Server, path: str, encodings: str = "gzip") -> tuple[int, HTTPMessage, bytes]:
    """Return status, headers and body, as they are sent."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as http:
        http.request("GET", path, headers={"Accept-Encoding": encodings})
        answer = http.getresponse()
        return answer.status, answer.headers, answer.read()


def offered(server: Server, text: str) -> dict[str, Any]:
    """Open Heads with a text, and return what its explorer is told of the files."""
    found: list[dict[str, Any]] = []

    def note(raw: bytes) -> None:
        element = ForwardMsg.FromString(raw).delta.new_element
        if element.WhichOneof("type") == "bidi_component":
            header = read_payload(element.bidi_component.bytes)[0]
            found.extend([header["files"]] if header["component"] == "explorer" else [])

    with Visitor(server.url, note=note) as visitor:
        assert not visitor.open("heads", f"text={quote(text)}").broke
    return found[-1]


def count(server: Server, name: str) -> float:
    """Return a figure of the server's metrics."""
    figures = get(server, "/metrics")[2]
    figures = gzip.decompress(figures) if figures[:2] == b"\x1f\x8b" else figures
    return sum(float(n) for n in re.findall(rf"^attnviz_{name} (\S+)", figures.decode(), re.MULTILINE))


def test_a_file_of_weights_may_be_kept_for_ever_and_has_the_headers_of_all_responses(served: Server) -> None:
    digest = offered(served, f"{SECRET} in a small text")["shared"]
    code, headers, body = get(served, PATH + digest)
    assert code == 200
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert headers["Content-Encoding"] == "identity"
    assert int(headers["Content-Length"]) == len(body)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers
    weights = load(body)["weights"]
    assert weights.dtype == np.uint16
    np.testing.assert_allclose(weights.sum(-1) / 65535, 1, atol=weights.shape[-1] * 7.7e-6)


def test_what_is_compressed_is_sent_as_the_browser_takes_it(served: Server) -> None:
    digest = offered(served, f"{SECRET} in a text of many words " * 40)["shared"]
    _, compressed, short = get(served, PATH + digest)
    _, plain, long = get(served, PATH + digest, encodings="identity")
    assert (compressed["Content-Encoding"], plain["Content-Encoding"]) == ("gzip", "identity")
    assert "Accept-Encoding" in compressed["Vary"]
    assert len(short) < 0.8 * len(long)
    assert gzip.decompress(short) == long
    assert load(long)["overview"].shape == (6, 12, 48, 48)


@pytest.mark.parametrize(
    "digest",
    ["", "x", "A" * 20, "A" * 100_000, "../../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5cx", "%00",
     quote("🙂" * 20), "%ff%fe", "a/b/c", "AAAA?x=1", quote(f"<script>{SECRET}</script>")],
)  # fmt: skip
def test_what_was_not_offered_is_not_there(served: Server, digest: str) -> None:
    code, headers, body = get(served, PATH + digest)
    assert code in (400, 404)  # 400 where Streamlit refuses a path before it looks for its route
    assert len(body) < 100
    assert "immutable" not in headers.get("Cache-Control", "")


def test_visitors_with_the_same_text_share_a_file_that_is_made_once(served: Server) -> None:
    text = f"{SECRET} says the same to everybody"
    files = offered(served, text)
    assert offered(served, text) == files
    made = count(served, "passes_total")
    with ThreadPoolExecutor(30) as threads:
        bodies = list(threads.map(lambda _: get(served, PATH + files["shared"])[2], range(100)))
    assert len(set(bodies)) == 1
    assert count(served, "passes_total") - made == 1
    assert get(served, PATH + files["rollout"][5])[0] == 200
    other = offered(served, f"{text}!")
    assert not {files["shared"], *files["rollout"]} & {other["shared"], *other["rollout"]}


def test_other_methods_than_get_are_refused(served: Server) -> None:
    digest = offered(served, f"{SECRET} again")["shared"]
    with closing(HTTPConnection(urlsplit(served.url).netloc, timeout=60)) as http:
        http.request("POST", PATH + digest, b"x")
        assert http.getresponse().status == 405
    assert status(f"{served.url}/healthz") == 200
