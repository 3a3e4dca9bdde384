"""The files of trained models: `python -m attnviz train` writes one, `measure` measures them again, and `record` writes
a training that ships with the app, so that visitors need not wait."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnviz.cli import INTERRUPTED, add_output_options, command_line, failed, run_checked, wish_to_stop
from attnviz.formatting import percent
from attnviz.training.series import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnviz.bert.head_card import Corpus
    from attnviz.bert.language_head import HeadRun
    from attnviz.pretrained.masked_head import HeadWeights
    from attnviz.trained.card import AboutFiles, Card
    from attnviz.trained.making import ModelTraining
    from attnviz.training.jobs.view import Evaluation
    from attnviz.training.plan import Plan
    from attnviz.training.settings import TrainingSettings
    from attnviz.training.tasks.task import Result

SETTINGS_NAMES = ("steps", "seed", "learning_rate")
"""The settings of a training that are options"""
FILES = ("text", "train_file", "test_file")
"""The options that name what a model learns from"""

BLANKS = "blanks"
"""The name of the masked-language head, which is no model of its own"""
TRAIN = """Train one of the models that ship with the app, or the masked-language head of the built-in model (blanks),
and write it as one safetensors file with its card. Ctrl-C stops after the step and leaves a checkpoint, from which
--resume goes on as if nothing had happened."""
MEASURE = """Measure loss, accuracy and heads of trained models, or of the last weights of recorded trainings, on all
that they were not trained on, and write them into the files and their cards. The weights stay as they are."""
RECORD = """Train as the page Train does by default, and write losses, evaluations and some snapshots to one safetensors
file, with its card beside it."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add these commands to the command line."""
    from attnviz.trained.recorded import NAMES

    parser = subparsers.add_parser("train", help="train a model that pages can show", description=TRAIN)
    add = parser.add_argument
    names = (*SHIPPED, BLANKS)
    add("name", choices=names, help=f"one of {', '.join(names)}", metavar="name")
    add(
        "--text", type=Path, action="append", metavar="FILE",
        help="the text that chargpt learns from: UTF-8, up to 5 MB; or one that blanks learns from, once for each text",
    )  # fmt: skip
    add("--train-file", type=Path, metavar="FILE", help="what tagging learns from: a word and its tag a line, UTF-8")
    add("--test-file", type=Path, metavar="FILE", help="what tagging is tested on, in the same form")
    add("--steps", type=int, metavar="N", help="how many steps (default: as the shipped model)")
    add("--seed", type=int, metavar="N", help="of the weights, the batches and dropout (default: as the shipped model)")
    add("--learning-rate", type=float, metavar="RATE", help="(default: as the shipped model)")
    add("--resume", type=Path, metavar="CHECKPOINT", help="go on from a checkpoint, with its settings")
    add(
        "--every",
        type=int,
        metavar="N",
        help="steps between two validations, each with a checkpoint (default: a tenth)",
    )
    add("--threads", type=int, default=1, metavar="N", help="threads of torch; few suit small models (%(default)s)")
    add_output_options(parser, "the model")
    parser.set_defaults(run=run)
    parser = subparsers.add_parser("measure", help="correct the cards of trained models", description=MEASURE)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="file", help="safetensors files that train or record has written")
    add("--text", type=Path, metavar="FILE", help="the text that a model learned from, if it is not the built-in one")
    add("--train-file", type=Path, metavar="FILE", help="what a model that learned from files was trained on")
    add("--test-file", type=Path, metavar="FILE", help="and what it is tested on")
    parser.set_defaults(run=run_measure)
    parser = subparsers.add_parser("record", help="record a training, with its snapshots", description=RECORD)
    parser.add_argument("name", choices=NAMES, help=f"one of {', '.join(NAMES)}", metavar="name")
    add_output_options(parser, quiet="no report")
    parser.set_defaults(run=run_record)


def run(arguments: argparse.Namespace) -> int:
    """Train. Exit codes: 0 done, 1 a file can't be used or the loss diverged, 2 wrong usage, 130 stopped by Ctrl-C."""
    from attnviz.pretrained.names import ModelError
    from attnviz.tokens.tokenizers import BadUploadError
    from attnviz.training.loop import CheckpointError, DivergedError
    from attnviz.training.tagged.files import TaggedError
    from attnviz.training.text.subject import TextError

    refusals = (CheckpointError, DivergedError, BadUploadError, TextError, TaggedError, ModelError)
    work = _train_blanks if arguments.name == BLANKS else lambda arguments: _train(_begin(arguments), arguments)
    return run_checked(work, arguments, *refusals)


def _begin(arguments: argparse.Namespace) -> ModelTraining:
    """Return the requested training, at its first step or at the checkpoint's step."""
    import torch

    from attnviz.trained.making import ModelTraining, training_data_of
    from attnviz.training.loop import Checkpoint
    from attnviz.training.series import plan_of
    from attnviz.training.settings import TAGGED, TEXT
    from attnviz.training.tasks.tagging import Tagging

    if arguments.threads < 1 or (arguments.every is not None and arguments.every < 1):
        raise ValueError("--threads and --every are at least 1")
    torch.set_num_threads(arguments.threads)
    settings = {name: getattr(arguments, name) for name in SETTINGS_NAMES if getattr(arguments, name) is not None}
    plan = plan_of(arguments.name)
    if arguments.text is not None and plan.subject != TEXT:
        raise ValueError(f"{arguments.name} is a task, which learns from no text")
    if arguments.text is not None and len(arguments.text) > 1:
        raise ValueError(f"{arguments.name} learns from one text")
    text = None if arguments.text is None else arguments.text[0]
    files = files_of(arguments)
    if files is not None and arguments.name != Tagging.name:
        raise ValueError(f"only tagging learns from a training file, and {arguments.name} does not")
    saved = None if arguments.resume is None else Checkpoint.read(arguments.resume)
    if saved is not None:
        if settings:
            raise ValueError(
                "a checkpoint has its own settings: --resume goes with none of " + ", ".join(SETTINGS_NAMES)
            )
        plan = saved.plan
    plan = replace(plan, training=replace(plan.training, **settings))
    checkpoint = arguments.resume or arguments.out.with_suffix(".checkpoint")
    if plan.subject == TAGGED and files is None:
        raise ValueError("this checkpoint is of a training on files: --train-file and --test-file name them")
    making = ModelTraining.begin(arguments.name, training_data_of(plan, text, files), checkpoint, arguments.every)
    if saved is not None:
        making.resume(saved)
    return making


def files_of(arguments: argparse.Namespace) -> tuple[Path, Path] | None:
    """Return the training file and the test file; None if there are none.

    Raises:
        ValueError: one of them is missing.
    """
    train, test = arguments.train_file, arguments.test_file
    if (train is None) != (test is None):
        raise ValueError("--train-file and --test-file go together: what is learned from, and what is tested on")
    return None if train is None else (train, test)


def _train(making: ModelTraining, arguments: argparse.Namespace) -> int:
    """Make the steps, and write the model, or the checkpoint if Ctrl-C stops it."""
    from tqdm import tqdm

    steps, first = making.training_data.plan.training.steps, making.trainer.step
    with tqdm(total=steps, initial=first, unit="step", disable=arguments.quiet) as bar, wish_to_stop() as is_stopped:

        def stepped(loss: float) -> None:
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update()

        def validated(step: int, result: Result) -> None:
            if not arguments.quiet:
                bar.write(f"step {step}: held out, {_measured(result)}", sys.stderr)

        is_done = making.run(is_stopped, stepped, validated)
    if not is_done:
        again = f"--resume {making.checkpoint}"
        return failed(f"stopped after {making.trainer.step} of {steps} steps; {again} goes on from there", INTERRUPTED)
    data, card = making.finish(_command(arguments, making.training_data.plan.training))
    out = arguments.out
    _write(out, data, making.training_data.plan, card)
    making.checkpoint.unlink(missing_ok=True)
    if not arguments.quiet:
        sys.stdout.write(f"{out}: {_measured(card)} on held-out sequences\n")
        if card.files is not None:
            sys.stdout.write(f"{tested(card.files)}\n")
    return 0


def _measured(of: Result | Card | Evaluation) -> str:
    return f"loss {of.loss:.4f}, accuracy {percent(of.accuracy, 2)}"


def tested(files: AboutFiles) -> str:
    """Return one line about a test file, to print below the model's accuracy."""
    unknown, right = files.unknown / files.words, files.right / files.words
    return (
        f"{files.name}: {files.sentences:,} sentences, {files.words:,} words, {percent(unknown, 2)} of them unknown; "
        f"sentences that stand in the training file too: {files.seen:,}; baseline {percent(right, 2)}"
    )


def _command(arguments: argparse.Namespace, training: TrainingSettings) -> str:
    """Return the command that makes the same model, with file names without folders.

    Its settings are those of the training: a resumed training takes them from its checkpoint.
    """
    from attnviz.training.series import plan_of

    return _command_from(arguments, training, plan_of(arguments.name).training)


def _command_from(arguments: argparse.Namespace, training: TrainingSettings, usual: TrainingSettings) -> str:
    files = []
    for name in FILES:
        given = getattr(arguments, name) or []
        option = f"--{name.replace('_', '-')}"
        files += [word for file in (given if isinstance(given, list) else [given]) for word in (option, file.name)]
    values = {name: getattr(training, name) for name in SETTINGS_NAMES}
    changed = {name: value for name, value in values.items() if value != getattr(usual, name)}
    return command_line("train", arguments.name, *files, **changed)


def _train_blanks(arguments: argparse.Namespace) -> int:
    """Read the texts with the built-in model, train the head and write it; Ctrl-C leaves what is done so far."""
    import torch
    from tqdm import tqdm

    from attnviz.bert.language_head import SEEDS, SETTINGS, HeadRun, are_words
    from attnviz.bert.masked_states import (
        FEWEST,
        MOST,
        MaskedStates,
        digest_of,
        extend,
        read_corpora,
        shuffled,
    )
    from attnviz.files import write_atomically
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.pretrained.described import VOCABULARY, WIDTH, find_folder
    from attnviz.pretrained.masked_head import HeadWeights

    if not arguments.text or files_of(arguments) is not None or arguments.threads < 1:
        raise ValueError(f"{BLANKS} learns from texts: --text names them; --threads is at least 1")
    torch.set_num_threads(arguments.threads)
    given = {name: getattr(arguments, name) for name in SETTINGS_NAMES if getattr(arguments, name) is not None}
    settings = replace(SETTINGS, **given)
    corpora, sentences = read_corpora(arguments.text)
    model = BuiltInModel(find_folder(), HeadWeights.zeros(WIDTH, VOCABULARY))
    checkpoint = arguments.resume or arguments.out.with_suffix(".checkpoint")
    states = checkpoint.with_suffix(".states")
    masked = MaskedStates(digest_of(corpora, settings.seed))
    if arguments.resume and states.exists():
        masked = MaskedStates.from_file(states, masked.digest)
    again = f"--resume {checkpoint} goes on from there"
    with tqdm(total=len(sentences), initial=masked.read, unit="sentence", disable=arguments.quiet) as bar, \
            wish_to_stop() as is_stopped:  # fmt: skip
        is_read = extend(masked, model, shuffled(sentences, settings.seed), settings.seed, stops=is_stopped,
                         progress=lambda count: bar.update(count - bar.n))  # fmt: skip
        if is_read and not masked.tokens:
            raise ValueError(f"the texts have no sentence of {FEWEST} to {MOST} tokens, [CLS] and [SEP] included")
        if masked.tokens:
            write_atomically(states, masked.to_bytes())
    if not is_read:
        return failed(f"stopped after {masked.read:,} of {len(sentences):,} sentences; {again}", INTERRUPTED)
    is_word = are_words(model)
    run = HeadRun(masked.arrays(), masked.digest, model.embeddings, is_word, settings, checkpoint)
    if arguments.resume and checkpoint.exists():
        run.resume()
    with tqdm(total=SEEDS * settings.steps, initial=run.steps, unit="step", disable=arguments.quiet) as bar, \
            wish_to_stop() as is_stopped:  # fmt: skip
        is_done = run.run(is_stopped, lambda count, _: bar.update(count - bar.n))
    if not is_done or run.weights is None:
        return failed(f"stopped after {run.steps:,} of {SEEDS * settings.steps:,} steps; {again}", INTERRUPTED)
    verdict = _write_head(arguments, run, run.weights, corpora)
    for file in (checkpoint, states):
        file.unlink(missing_ok=True)
    if not arguments.quiet:
        sys.stdout.write(f"{arguments.out}: {verdict}\n")
    return 0


def _write_head(arguments: argparse.Namespace, run: HeadRun, weights: HeadWeights, corpora: Sequence[Corpus]) -> str:
    """Write the head of a finished run and its card; return how well it does, in a sentence."""
    from datetime import UTC, datetime

    import torch

    from attnviz.bert.head_card import WHAT, Card
    from attnviz.bert.language_head import SETTINGS, score_alone
    from attnviz.bert.masked_states import HIDDEN_PART
    from attnviz.bert.search import built_in
    from attnviz.files import write_atomically
    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.pretrained.described import find_folder

    alone = score_alone(
        BuiltInModel(find_folder(), weights), built_in().sentences, lambda token: bool(run.is_word[token])
    )
    card = Card(
        WHAT, tuple(corpora), HIDDEN_PART, run.trained_on, run.settings, tuple(run.results), alone,
        _command_from(arguments, run.settings, SETTINGS), datetime.now(UTC).date().isoformat(), torch.__version__,
    )  # fmt: skip
    write_atomically(arguments.out, weights.to_bytes())
    write_atomically(arguments.out.with_suffix(".json"), card.to_bytes())
    return card.verdict


def run_measure(arguments: argparse.Namespace) -> int:
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
    _write(file, data, plan, card)
    sys.stdout.write(f"{file}: {_measured(card)} on all that it was not trained on\n")


def run_record(arguments: argparse.Namespace) -> int:
    """Record. Exit codes: 0 done, 1 the file can't be written or the loss diverged, 2 wrong usage."""
    from attnviz.training.loop import DivergedError

    return run_checked(_record, arguments, DivergedError)


def _record(arguments: argparse.Namespace) -> int:
    import torch

    from attnviz.trained.making import record
    from attnviz.trained.recorded import write

    torch.set_num_threads(1)
    recording, out = record(arguments.name), arguments.out
    data = write(recording)
    _write(out, data, recording.plan, recording.card)
    kept, last = len(recording.view.snapshots), recording.view.evaluations[-1]
    if not arguments.quiet:
        sys.stdout.write(f"{out}: {len(data):,} bytes, {kept} snapshots, {_measured(last)}\n")
    return 0


def _write(file: Path, data: bytes, plan: Plan, card: Card) -> None:
    """Write the file of a model or a recorded training, and its card beside it."""
    from attnviz.files import write_atomically
    from attnviz.trained.card import as_file

    write_atomically(file, data)
    write_atomically(file.with_suffix(".json"), as_file(plan, card))
