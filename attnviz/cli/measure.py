"""`python -m attnviz measure`: measures trained models and recorded trainings again, and corrects their cards."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from attnviz.cli import failed
from attnviz.cli.train import files_of

ABOUT = """Measure loss, accuracy and heads of trained models, or of the last weights of recorded trainings, on all that
they were not trained on, and write them into the files and their cards. The weights stay as they are."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("measure", help="correct the cards of trained models", description=ABOUT)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="file", help="safetensors files that train or record has written")
    add("--text", type=Path, metavar="FILE", help="the text that a model learned from, if it is not the built-in one")
    add("--train-file", type=Path, metavar="FILE", help="what a model that learned from files was trained on")
    add("--test-file", type=Path, metavar="FILE", help="and what it is tested on")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure. Exit codes: 0 done, 1 a file can't be used."""
    import torch

    from attnviz.pretrained.names import ModelError
    from attnviz.tokens.tokenizers import BadUploadError
    from attnviz.training.text.subject import TextError

    torch.set_num_threads(1)
    for file in arguments.files:
        try:
            _measure(file, arguments.text, files_of(arguments))
        except (ModelError, BadUploadError, TextError, ValueError) as error:
            return failed(f"{file}: {error}", 1)
        except OSError as error:
            return failed(f"{error.filename or file}: {error.strerror or 'it can’t be used'}", 1)
    return 0


def _measure(file: Path, text: Path | None, files: tuple[Path, Path] | None) -> None:
    from attnviz.files import write_atomically
    from attnviz.trained.card import as_file
    from attnviz.trained.files import read
    from attnviz.trained.making import measured, measured_recording
    from attnviz.trained.recorded import is_recording
    from attnviz.trained.recorded import read as read_recording
    from attnviz.trained.recorded import write as write_recording

    if is_recording(file):
        recording = measured_recording(read_recording(file))
        data, plan, card = write_recording(recording), recording.plan, recording.card
    else:
        saved = read(file.read_bytes())
        data, card = measured(saved, text, files)
        plan = saved.plan
    write_atomically(file, data)
    write_atomically(file.with_suffix(".json"), as_file(plan, card))
    sys.stdout.write(f"{file}: loss {card.loss:.4f}, accuracy {card.accuracy:.2%} on all that it was not trained on\n")
