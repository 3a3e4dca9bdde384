"""Uploads: how many at once, how many files a session keeps, how many bytes all keep, and how long one may take."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from attnviz.serving.limits import UPLOAD_BYTES, UPLOAD_FILES, UPLOAD_PATH, UPLOADS_AT_ONCE, Uploads
from tests.threads import run_in_thread


class Streamlit:
    """Stands in for Streamlit: answers an upload once it is told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = 0
        self.begins = False

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        self.asked += 1
        if self.begins:
            await send({"type": "http.response.start", "status": 204, "headers": []})
        await self.may_answer.wait()
        if not self.begins:
            await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def put(
    app: Uploads, path: str = f"{UPLOAD_PATH}session/file", method: str = "PUT", kind: str = "http"
) -> list[Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    await app({"type": kind, "method": method, "path": path, "headers": []}, receive, send)
    return sent


def said(sent: list[Any]) -> tuple[int, str, bool]:
    """Return the status of an answer, its text, and whether the connection ends with it."""
    body = b"".join(message.get("body", b"") for message in sent).decode()
    return sent[0]["status"], body, (b"connection", b"close") in sent[0]["headers"]


def test_of_many_uploads_at_once_the_last_is_refused_until_one_has_ended() -> None:
    async def visit() -> None:
        inner = Streamlit()
        app = Uploads(inner)
        async with asyncio.TaskGroup() as group:
            for _ in range(UPLOADS_AT_ONCE):
                group.create_task(put(app))
            await asyncio.sleep(0)
            refused = "Too many files are being uploaded; try again in a minute."
            assert said(await put(app)) == (503, refused, True)
            assert inner.asked == UPLOADS_AT_ONCE
            inner.may_answer.set()
            for path, method, kind in (
                ("/", "PUT", "http"),
                (UPLOAD_PATH, "GET", "http"),
                (UPLOAD_PATH, "PUT", "websocket"),
            ):
                assert (await put(app, path, method, kind))[0]["status"] == 204  # no upload
        assert said(await put(app)) == (204, "", False)

    run_in_thread(visit())


@pytest.mark.parametrize("begins", [False, True])
def test_an_upload_that_takes_too_long_ends_and_gives_its_place_back(begins: bool) -> None:
    async def visit() -> None:
        inner = Streamlit()
        inner.begins = begins
        app = Uploads(inner, seconds=0.02)
        for _ in range(UPLOADS_AT_ONCE + 1):
            sent = await put(app)
            if begins:  # what has begun can't be answered anew
                assert [message["status"] for message in sent] == [204]
            else:
                assert said(sent) == (408, "The file took too long to arrive.", True)

    run_in_thread(visit())


def test_a_session_keeps_its_newest_files_and_all_together_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, dict[str, Any]] = {
        "a": {str(number): SimpleNamespace(data=b"1") for number in range(UPLOAD_FILES + 1)},
        "b": {"only": SimpleNamespace(data=b"2")},
    }
    manager = SimpleNamespace(file_storage=held, remove_file=lambda session, file: held[session].pop(file))
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager))

    async def visit() -> None:
        inner = Streamlit()
        inner.may_answer.set()
        app = Uploads(inner)
        assert said(await put(app, f"/below{UPLOAD_PATH}a/new"))[0] == 204
        assert [*held["a"]] == [str(number) for number in range(2, UPLOAD_FILES + 1)], (
            "with the new one they are as many"
        )
        assert [*held["b"]] == ["only"]
        held["b"]["large"] = SimpleNamespace(data=range(UPLOAD_BYTES - UPLOAD_FILES - 1))  # all but one byte
        assert said(await put(app, f"{UPLOAD_PATH}c/new"))[0] == 204
        held["b"]["only"] = SimpleNamespace(data=b"22")
        assert said(await put(app, f"{UPLOAD_PATH}c/new"))[0] == 503

    run_in_thread(visit())
