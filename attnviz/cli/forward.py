"""`python -m attnviz forward`: a service that runs forward passes for several web servers, on Ray Serve."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from attnviz.cli import failed, wish_to_stop

ABOUT = """Run forward passes of models for web servers whose setting ATTNVIZ_FORWARD names this service. It has no
authentication: its ports, and all of Ray's, belong into a private network. docs/hosting.md says how."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("forward", help="run models for several web servers", description=ABOUT)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 is every one (%(default)s)")
    add("--port", type=int, default=8000, help="port to listen on (%(default)s)")
    add("--models", nargs="+", default=["minilm"], metavar="NAME", help="minilm, names on the hub, folders (minilm)")
    add("--replicas", nargs=2, type=int, default=[1, 1], metavar=("LEAST", "MOST"), help="each has a processor (1 1)")
    add("--queue", type=int, default=32, metavar="N", help="requests that may wait (%(default)s)")
    add("--address", metavar="ADDRESS", help="of a running Ray cluster, or auto (default: Ray on this machine)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until stopped. Exit codes: 0 stopped normally, 1 the service can't start, 2 wrong usage."""
    from attnviz.serving.forward.start import StartError, service

    least, most = arguments.replicas
    if not 1 <= least <= most or arguments.queue < 1:
        return failed("--replicas takes two numbers, the first at least 1 and not above the second; --queue one", 2)
    try:
        with (
            service(
                arguments.models,
                host=arguments.host,
                port=arguments.port,
                replicas=(least, most),
                queue=arguments.queue,
                address=arguments.address,
            ) as cluster,
            wish_to_stop() as is_stopped,
        ):  # after Ray, which takes these signals for itself
            sys.stdout.write(f"Forward passes at http://{arguments.host}:{arguments.port}/forward, Ray at {cluster}\n")
            sys.stdout.flush()
            while not is_stopped():
                time.sleep(0.2)
    except StartError as error:
        return failed(str(error), 1)
    return 0
