"""`python -m attnviz classify`: trains a linear layer on the frozen built-in model and writes it to a file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from attnviz.cli import add_output_options, command_line, run_checked
from attnviz.formatting import percent

NAMES = ("classifier", "agent")
ABOUT = """Train one of the two linear layers on the frozen built-in model that ship with the app, and write it as one
safetensors file with its card. The card also says how it and two baselines do with five seeds."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser(
        "classify", help="train a classifier on the frozen built-in model", description=ABOUT
    )
    add = parser.add_argument
    add("name", choices=NAMES, help=f"one of {', '.join(NAMES)}", metavar="name")
    add("--features", choices=("mean", "cls"), help="what the layer sees of a text (default: as the shipped one)")
    add("--tanh", action="store_true", help="take the hyperbolic tangent of each feature first")
    add("--steps", type=int, metavar="N", help="how many steps (default: as the shipped one)")
    add("--learning-rate", type=float, metavar="RATE", help="(default: as the shipped one)")
    add("--seed", type=int, default=0, metavar="N", help="of split, weights and order (default: %(default)s)")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train. Exit codes: 0 done, 1 a file can't be used or the built-in model is missing, 2 wrong usage."""
    from attnviz.pretrained.names import ModelError

    return run_checked(_make, arguments, ModelError)


def _make(arguments: argparse.Namespace) -> int:
    import torch
    from tqdm import tqdm

    from attnviz.bert.classification.outcome import verdict
    from attnviz.bert.classification.shipped import ClassifierSettings, make, write
    from attnviz.files import write_atomically
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.pretrained.described import find_folder

    torch.set_num_threads(1)
    options = {"how": arguments.features, "steps": arguments.steps, "rate": arguments.learning_rate}
    settings = {name: value for name, value in options.items() if value is not None}
    making = ClassifierSettings(arguments.name, tanh=arguments.tanh, seed=arguments.seed, **settings)
    with tqdm(unit="text", disable=arguments.quiet) as bar:
        classifier = make(
            making, BuiltInModel(find_folder()), _command(arguments), lambda done: bar.update(done - bar.n)
        )
    out = arguments.out
    for file, data in zip((out, out.with_suffix(".json")), write(classifier), strict=True):
        write_atomically(file, data)
    if not arguments.quiet:
        sys.stdout.write(
            f"{out}: accuracy {percent(classifier.card.accuracy, 2)} on held-out texts\n"
            f"{verdict(classifier.card.seeds)}\n"
        )
    return 0


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that makes the same layer."""
    options = {"features": arguments.features, "steps": arguments.steps, "learning_rate": arguments.learning_rate}
    return command_line("classify", arguments.name, **options, tanh=arguments.tanh, seed=arguments.seed or None)
