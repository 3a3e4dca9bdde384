"""Starts the service: Ray on this machine, or on a cluster that runs, and the deployment on it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attnviz.cluster import ClusterError, connected, first_line
from attnviz.serving.forward.transports import NAME

ROUTE = "/forward"
STORE_BYTES = 256 * 2**20
"""Ray's memory for what handles carry: some ten passes of 512 tokens"""
REQUEST_SECONDS = 30
"""After which the service gives up a request"""


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
    try:
        with connected(address, processors=replicas[1], store_bytes=STORE_BYTES):
            try:
                yield _deployed(models, host, port, replicas, queue)
            finally:
                if address:  # else Ray ends with it
                    _remove()
    except ClusterError as error:
        raise StartError(str(error)) from error


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


def _deployed(models: Sequence[str], host: str, port: int, replicas: tuple[int, int], queue: int) -> str:
    """Start the deployment, and return the address of the cluster.

    Raises:
        StartError: Ray Serve is not installed, or the deployment doesn't start.
    """
    import ray

    try:
        from ray import serve
    except ImportError as error:
        raise StartError("Ray Serve is not installed; pip install 'attnviz[ray]' installs it.") from error
    from attnviz.serving.forward.deployment import application

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    try:
        serve.start(http_options={"host": host, "port": port, "request_timeout_s": REQUEST_SECONDS})
        serve.run(application(models, replicas=replicas, queue=queue), name=NAME, route_prefix=ROUTE)
    except Exception as error:  # Ray raises plain ones too
        raise StartError(f"The service doesn't start: {first_line(error)}") from error
    return str(ray.get_runtime_context().gcs_address)


def _remove() -> None:
    """Remove the deployment, and nothing else that runs on that cluster."""
    from ray import serve

    serve.delete(NAME)
