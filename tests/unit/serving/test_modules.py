"""The route of the browser side's scripts and style sheets, without a server around it."""

from __future__ import annotations

import asyncio
import gzip

import brotli
import pytest
from starlette.applications import Starlette

from attnviz.components.built import addresses, folder, read
from attnviz.serving import modules
from attnviz.serving.app import ROUTES
from tests.threads import run_in_thread
from tests.unit.serving.test_exports import Answer, ask


def get(path: str, encodings: str = "gzip, br") -> Answer:
    """Request a path from the app's routes."""
    return run_in_thread(ask(Starlette(routes=ROUTES), path, method="GET", headers={"accept-encoding": encodings}))


@pytest.mark.parametrize("base", ["", "/some/where"])
@pytest.mark.parametrize(("suffix", "kind"), [("js", "text/javascript"), ("css", "text/css")])
def test_a_file_is_compressed_and_kept_for_ever(base: str, suffix: str, kind: str) -> None:
    path = f"{folder()}walk.{suffix}"
    text = (read(path) or "").encode()
    answer = get(base + path)
    assert (answer.status, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("br", "Accept-Encoding")
    assert brotli.decompress(answer.body) == text
    assert get(base + path).body == answer.body
    for encodings in ("gzip, deflate", "br;q=0, gzip;q=0.5"):
        older = get(base + path, encodings)
        assert older.headers["content-encoding"] == "gzip"
        assert gzip.decompress(older.body) == text
        assert len(answer.body) < len(older.body) < len(text) / 2
    plain = get(base + path, "")
    assert (plain.headers["content-encoding"], plain.body) == ("identity", text)


@pytest.mark.parametrize(
    "path",
    ["/attnviz/modules/", "/attnviz/modules/walk.js", "/attnviz/modules/0123456789abcdef/walk.js",
     f"{folder()}../../../app.py", f"{folder()}main.js", f"{folder()}\0.js", f"{folder()}{'x/' * 50_000}walk.js",
     f"/some/where{folder()}none.js"],
)  # fmt: skip
def test_what_is_not_there_is_not_kept(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.body) == (404, b"")
    assert answer.headers["cache-control"] == "no-store"


def test_many_first_visitors_wait_for_one_who_compresses_it() -> None:
    modules._encoded.cache_clear()
    path, app = f"{folder()}lecture.js", Starlette(routes=ROUTES)

    async def crowd() -> list[Answer]:
        return await asyncio.gather(*(ask(app, path, method="GET", headers={}) for _ in range(20)))

    answers = run_in_thread(crowd())
    assert {answer.status for answer in answers} == {200}
    assert modules._encoded.cache_info().misses == 1


def test_all_files_can_be_compressed_ahead() -> None:
    modules._encoded.cache_clear()
    modules.make_all()
    before = modules._encoded.cache_info()
    assert before.currsize == len(addresses())
    assert [address for address in addresses() if get(address).status != 200] == []
    assert modules._encoded.cache_info().misses == before.misses
