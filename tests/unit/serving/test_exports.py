"""What the export dialog asks of the server, without a server around it."""

from __future__ import annotations

import asyncio
import io
import json
from base64 import b64decode
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
from fontTools.ttLib import TTFont
from pptx import Presentation
from pypdf import PdfReader
from starlette.applications import Starlette
from starlette.types import Message

from attnviz.components.export_view import PATHS
from attnviz.serving.exports import AT_ONCE, MAX_BYTES, MAX_LETTERS, SLIDES, Exports
from tests.threads import run_in_thread
from tests.unit.export.test_recording import recorded, words, written

JSON = {"content-type": "application/json"}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


async def ask(
    app: Starlette, path: str, body: bytes = b"", *, method: str = "POST", headers: dict[str, str] | None = None,
    pause: float = 0, leaves: bool = False,
) -> Answer:  # fmt: skip
    """Send a request to an app. With `leaves`, the browser is gone before its body has arrived."""
    given = {"content-length": str(len(body)), **(JSON if headers is None else headers)}
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.disconnect"} if leaves else {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in given.items() if value]
    await app({"type": "http", "method": method, "path": path, "query_string": b"", "headers": raw}, receive, send)
    start, *rest = sent
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(message.get("body", b"") for message in rest))


def app(**options: Any) -> Starlette:
    return Starlette(routes=Exports(**options).routes())


def asked(*given: Any, **more: Any) -> Answer:
    return run_in_thread(ask(app(), *given, **more))


PICTURE = json.dumps(recorded(words(written("found")))).encode()


def test_a_recorded_picture_becomes_a_pdf() -> None:
    answer = asked(PATHS["pdf"], PICTURE)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/pdf")
    assert answer.headers["cache-control"] == "no-store"
    (page,) = PdfReader(io.BytesIO(answer.body)).pages
    assert page.extract_text().strip() == "found"


def test_a_recorded_picture_becomes_a_slide() -> None:
    answer = asked(PATHS["pptx"], b"[" + PICTURE + b"]")
    assert (answer.status, answer.headers["content-type"]) == (200, SLIDES)
    (slide,) = Presentation(io.BytesIO(answer.body)).slides
    assert [shape.text_frame.text for shape in slide.shapes] == ["found"]


def test_the_font_comes_with_the_characters_that_are_asked_for() -> None:
    answer = asked(PATHS["fonts"], json.dumps({"regular": "ab你\ud800", "bold": ""}).encode())
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    files = json.loads(answer.body)
    assert set(files) == {"regular", "bold"}
    assert files["bold"] == ""
    font = TTFont(io.BytesIO(b64decode(files["regular"])))
    assert font.flavor == "woff2"
    assert {chr(code) for code in font.getBestCmap()} == {"a", "b"}


def test_the_characters_of_the_font_are_listed() -> None:
    answer = asked(PATHS["letters"], method="GET")
    assert answer.status == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert set("aZ0−√ΩЖ🤖") <= set(answer.body.decode())
    assert not set("你ש") & set(answer.body.decode())


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "why"),
    [
        ("pdf", PICTURE, {"content-type": "text/plain"}, 415, "not JSON"), ("pdf", PICTURE, {}, 415, "not JSON"),
        ("pdf", PICTURE, {**JSON, "content-length": ""}, 411, "length"),
        ("pdf", PICTURE, {**JSON, "content-length": "-1"}, 411, "length"),
        ("pdf", PICTURE, {**JSON, "content-length": str(MAX_BYTES + 1)}, 413, "4 MB"),
        ("fonts", b"{}", {**JSON, "content-length": "9" * 9}, 413, "4 MB"),
        ("fonts", b"{}", {**JSON, "content-length": "9" * 5000}, 411, "length"),
        ("pdf", b"%PDF", JSON, 400, "not a picture as attnviz records it"),
        ("pptx", b"PK", JSON, 400, "not a picture as attnviz records it"),
        ("pptx", PICTURE, JSON, 400, "list"), ("pptx", b"[]", JSON, 400, "no picture"),
        ("pdf", PICTURE.replace(b"#000000", b"black"), JSON, 400, "colour"),
        ("fonts", b"[]", JSON, 400, "characters"), ("fonts", b'{"regular": "a"}', JSON, 400, "characters"),
        ("fonts", b'{"regular": 1, "bold": ""}', JSON, 400, "characters"),
        ("fonts", b"[" * 100_000, JSON, 400, "characters"),
        ("fonts", json.dumps({"regular": "a" * (MAX_LETTERS + 1), "bold": ""}).encode(), JSON, 400, "too many"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_anything_else_is_refused_in_a_sentence(
    path: str, body: bytes, headers: dict[str, str], status: int, why: str
) -> None:
    answer = asked(PATHS[path], body, headers=headers)
    assert answer.status == status
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert why in answer.body.decode()
    assert answer.body.endswith(b".")


def test_so_many_characters_and_bytes_are_taken_and_each_weight_has_its_own() -> None:
    """What names too many is refused above, with one more."""
    body = json.dumps({"regular": "a" * MAX_LETTERS, "bold": "bc"}).encode()
    answer = asked(PATHS["fonts"], body, headers={**JSON, "content-length": str(MAX_BYTES)})
    assert answer.status == 200
    files = {name: TTFont(io.BytesIO(b64decode(file))) for name, file in json.loads(answer.body).items()}
    assert {name: "".join(map(chr, sorted(font.getBestCmap()))) for name, font in files.items()} == {
        "regular": "a", "bold": "bc"
    }  # fmt: skip
    assert [files[name]["OS/2"].usWeightClass for name in ("regular", "bold")] == [400, 600]


def test_files_are_only_made_for_post() -> None:
    assert {asked(PATHS[name], method="GET").status for name in ("pdf", "pptx", "fonts")} == {405}


def test_a_picture_that_arrives_too_slowly_ends_and_one_that_never_does_is_forgotten() -> None:
    exports = Exports(seconds=0.1)
    slow = Starlette(routes=exports.routes())
    assert run_in_thread(ask(slow, PATHS["pdf"], PICTURE, pause=5)).status == 408
    assert run_in_thread(ask(slow, PATHS["pdf"], PICTURE, leaves=True)).status == 400
    assert exports.under_way == 0


def test_so_many_at_once_and_no_more() -> None:
    shared = app()

    async def many() -> list[Answer]:
        requests: list[Coroutine[Any, Any, Answer]] = [
            ask(shared, PATHS["pdf"], PICTURE, pause=0.3) for _ in range(AT_ONCE + 4)
        ]
        return await asyncio.gather(*requests)

    answers = run_in_thread(many())
    assert sorted(answer.status for answer in answers) == [200] * AT_ONCE + [503] * 4
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    assert run_in_thread(ask(shared, PATHS["pdf"], PICTURE)).status == 200
