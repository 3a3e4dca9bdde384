"""The service as a deployment of Ray Serve, over HTTP and over handles. Needs the extra `attnviz[ray]`.

Requests that wait are taken as a batch by one thread of a replica, but each text runs on its own, in the graph that the
web server would run: in a padded batch, sums have other terms in another order, so the last bits differ. What a batch
saves here is changes of threads. (A GPU would compute many short texts in about the time of one; padding them is what
`attnviz.bert.encoding` does.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from ray import serve
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from attnviz.serving.forward.answering import Answering
from attnviz.serving.forward.messages import MOST_BYTES, Answer, Asked
from attnviz.serving.forward.transports import NAME

BATCH = 8
"""The most requests that a replica takes at once"""
DELAY = 15.0
"""Seconds for which a replica more must have been needed, before it is started"""


class Forward:
    """Runs forward passes of its models."""

    def __init__(self, models: Sequence[str]) -> None:
        # One thread for all passes, with one thread of torch: replicas share the machine.
        self._thread = ThreadPoolExecutor(1, "passes", initializer=torch.set_num_threads, initargs=(1,))
        self._answering = self._thread.submit(Answering, models).result()

    async def __call__(self, request: Request) -> Response:
        """Answer over HTTP."""
        answer = await self.ask(await _body(request)) if request.method == "POST" else Answer.refused(405, "POST only")
        headers = {"Content-Digest": answer.digest, "Cache-Control": "no-store"}
        return Response(answer.body, answer.status, headers, "application/octet-stream")

    async def ask(self, body: bytes) -> Answer:
        """Answer a request, over a handle too."""
        checked = self._answering.check(body)
        return checked if isinstance(checked, Answer) else await self._run(checked)

    @serve.batch(max_batch_size=BATCH, batch_wait_timeout_s=0.0)
    async def _run(self, waiting: list[Asked]) -> list[Answer]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run_all, waiting)

    def _run_all(self, waiting: list[Asked]) -> list[Answer]:
        return [self._answering.run(asked) for asked in waiting]


async def _body(request: Request) -> bytes:
    """Read a body, up to a byte more than a request may have."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                break
    except ClientDisconnect:
        pass
    return body[: MOST_BYTES + 1]


def application(models: Sequence[str], *, replicas: tuple[int, int], queue: int) -> Any:
    """Return what `serve.run` takes.

    Args:
        models: names as `attnviz.pretrained.load` takes them.
        replicas: how many there are at least and at most, each with a processor and a copy of the models.
        queue: how many requests may wait in a proxy, or in a web server with a handle; a further one gets 503.
    """
    least, most = replicas
    deployed: Any = serve.deployment(
        name=NAME,
        max_ongoing_requests=2 * BATCH,
        max_queued_requests=queue,
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": BATCH / 2,
            "upscale_delay_s": DELAY,
        },
        ray_actor_options={"num_cpus": 1},
        graceful_shutdown_timeout_s=5,
    )(Forward)
    return deployed.bind(tuple(models))
