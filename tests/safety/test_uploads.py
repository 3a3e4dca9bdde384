"""Uploads that would take for ever, and too many at once, without a server around them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from starlette.types import Message, Receive, Scope, Send
from streamlit import runtime

from attnviz.serving.limits import UPLOAD_BYTES, UPLOAD_PATH, UPLOADS_AT_ONCE, Uploads, make_room
from tests.threads import run_in_thread

SCOPE = {"type": "http", "method": "PUT", "path": f"{UPLOAD_PATH}session/file", "headers": []}


async def reads_all(_scope: Scope, receive: Receive, send: Send) -> None:
    """Read a whole body, as Streamlit does, and then answer."""
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def put(app: Uploads, *, pieces: int, pause: float) -> int:
    """Send a body in pieces and return the status of the answer."""
    status, _ = await putting(app, pieces=pieces, pause=pause)
    return status


async def putting(app: Uploads, *, pieces: int, pause: float) -> tuple[int, int]:
    """Send a body in pieces; return the status of the answer, and how many pieces were left then."""
    left = pieces
    status = 0

    async def receive() -> Message:
        nonlocal left
        await asyncio.sleep(pause)
        left -= 1
        return {"type": "http.request", "body": b"x", "more_body": left > 0}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(dict(SCOPE), receive, send)
    return status, left


def test_a_slow_upload_ends_and_a_quick_one_goes_through() -> None:
    patient, app = Uploads(reads_all, seconds=60), Uploads(reads_all, seconds=0.2)
    assert run_in_thread(putting(patient, pieces=3, pause=0.01)) == (204, 0)
    status, left = run_in_thread(putting(app, pieces=1000, pause=0.05))
    assert status == 408
    assert left > 990  # 0.2 s are 4 pieces
    assert patient.under_way == app.under_way == 0


def test_so_many_at_once_and_no_more() -> None:
    app = Uploads(reads_all)

    async def many() -> list[int]:
        return await asyncio.gather(*(put(app, pieces=2, pause=0.2) for _ in range(UPLOADS_AT_ONCE + 4)))

    assert sorted(run_in_thread(many())) == [204] * UPLOADS_AT_ONCE + [503] * 4


def test_a_response_that_has_begun_at_the_timeout_is_the_only_one() -> None:
    """A second one would break HTTP: the server closes the connection with an error in its log."""
    sent: list[str] = []

    async def answers_slowly(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await asyncio.sleep(60)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(f"{message['type']} {message.get('status', '')}")

    run_in_thread(Uploads(answers_slowly, seconds=0.05)(dict(SCOPE), receive, send))
    assert sent == ["http.response.start 204"]


class Files:
    """Stands in for Streamlit's manager of uploaded files: the bytes of each file by session."""

    def __init__(self, **held: list[int]) -> None:
        self.file_storage = {
            session: {f"{n}": SimpleNamespace(data=range(size)) for n, size in enumerate(sizes)}
            for session, sizes in held.items()
        }

    def remove_file(self, session: str, file: str) -> None:
        del self.file_storage[session][file]


@pytest.mark.parametrize(
    ("held", "is_room", "left"),
    [
        ([1, 1, 1, 1], True, ["1", "2", "3"]),  # the fourth file is the last
        ([1, 1, 1], True, ["0", "1", "2"]),
        ([UPLOAD_BYTES, 1, 1, 1], True, ["1", "2", "3"]),  # the oldest takes no room any more
        ([1, UPLOAD_BYTES - 2], True, ["0", "1"]),
        ([1, UPLOAD_BYTES - 1], False, ["0", "1"]),
        ([], True, []),
    ],
)
def test_a_session_has_four_files_and_all_of_them_a_hundred_megabytes(
    monkeypatch: pytest.MonkeyPatch, held: list[int], is_room: bool, left: list[str]
) -> None:
    files = Files(a=held, other=[0, 0])
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=files))
    assert make_room("a") == is_room
    assert list(files.file_storage["a"]) == left
    assert make_room("a new one") == is_room
    assert len(files.file_storage["other"]) == 2, "another's files stay"
