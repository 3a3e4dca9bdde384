"""Starts the service: Ray on this machine, or on a cluster that runs, and the deployment on it."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attnviz.serving.forward.transports import NAME

ROUTE = "/forward"
STORE_BYTES = 256 * 2**20
"""Ray's memory for what handles carry: some ten passes of 512 tokens"""
STARTS = 2
"""Attempts to start Ray here: it gives up after 30 seconds, which a busy machine may need"""
REQUEST_SECONDS = 30
"""After which the service gives up a request"""
ENVIRONMENT: Mapping[str, str] = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # as versions to come do; without it, Ray warns of them
    "RAY_SERVE_LOG_TO_STDERR": "0",
}
"""Variables that Ray reads when it is imported, where they are not set already"""


class StartError(RuntimeError):
    """The service can't start. The message is one sentence."""


@contextmanager
def service(
    models: Sequence[str],
    *,
    host: str,
    port: int,
    replicas: tuple[int, int],
    queue: int,
    address: str | None = None,
) -> Iterator[str]:
    """Run the service within the `with` block, which gets the address of the Ray cluster.

    Args:
        models: names as `attnviz.pretrained.load` takes them.
        host: the address on which the proxy listens.
        port: its port.
        replicas: how many there are at least and at most.
        queue: how many requests may wait.
        address: of a running cluster, such as "auto"; if None, Ray is started here, and ended afterwards.

    Raises:
        StartError: Ray is not installed or can't be reached, a model can't be served, or the deployment doesn't start.
    """
    _check(models)
    _set_environment(alone=address is None)
    try:
        import ray
        from ray import serve
    except ImportError as error:
        raise StartError("Ray Serve is not installed; pip install 'attnviz[ray]' installs it.") from error
    from attnviz.serving.forward.deployment import application

    try:
        try:
            cluster = _start(address, host, port, replicas[1], application(models, replicas=replicas, queue=queue))
        except Exception as error:  # Ray raises plain ones too
            raise StartError(f"The service doesn't start: {' '.join(str(error).split())[:300]}") from error
        yield cluster
    finally:
        if address and ray.is_initialized():
            serve.delete(NAME)  # and nothing else that runs on that cluster
        ray.shutdown()


def _check(models: Sequence[str]) -> None:
    """Load the models once: Ray would only say that the deployment failed.

    Raises:
        StartError: one can't be loaded, or its passes can't be sent.
    """
    from attnviz.pretrained import ModelError, load
    from attnviz.serving.forward.passes import PassFormat, UnsendableError

    for name in models:
        try:
            PassFormat.of(load(name))
        except (ModelError, UnsendableError) as error:
            raise StartError(str(error)) from error


def _start(address: str | None, host: str, port: int, processors: int, application: Any) -> str:
    """Start Ray and the deployment, and return the address of the cluster."""
    import ray
    from ray import serve

    here: dict[str, Any] = {"num_cpus": processors, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    for attempt in range(1 if address else STARTS):
        try:
            ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **({} if address else here))
            break
        except Exception:  # Ray raises plain ones
            ray.shutdown()
            if address or attempt + 1 == STARTS:
                raise
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    serve.start(http_options={"host": host, "port": port, "request_timeout_s": REQUEST_SECONDS})
    serve.run(application, name=NAME, route_prefix=ROUTE)
    return str(ray.get_runtime_context().gcs_address)


def _set_environment(*, alone: bool) -> None:
    """Set what Ray reads when it is imported; if it starts here, with a secret that its own ports ask for."""
    os.environ |= {name: value for name, value in ENVIRONMENT.items() if name not in os.environ}
    if alone and not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} & set(os.environ):
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
