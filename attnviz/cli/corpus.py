"""`python -m attnviz corpus`: computes statistics of every head of a model over files of sentences."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from attnviz.cli import INTERRUPTED, command_line, failed, run_checked, wish_to_stop

if TYPE_CHECKING:
    from attnviz.corpus.blocks import Block, Read
    from attnviz.corpus.run import Job, Run

ENGINES = ("local", "ray")
SAVED_EVERY = 30.0
"""Seconds between two checkpoints"""
ABOUT = """Read files of sentences, one a line, and write statistics of every head of a model: a Parquet file with a row
for each layer, head and measure. Ctrl-C, or a kill, leaves a checkpoint beside it, from which the same command goes
on: no sentence is counted twice, and none is left out."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser("corpus", help="statistics of every head over many sentences", description=ABOUT)
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="texts in UTF-8, one sentence a line")
    add("--model", default="minilm", metavar="NAME", help="minilm, a name on the hub, or a folder (%(default)s)")
    add("--out", type=Path, default=Path("stats.parquet"), metavar="FILE", help="(default: %(default)s)")
    add("--engine", choices=ENGINES, default="local", help="processes of this machine, or a Ray cluster (%(default)s)")
    add("--processes", type=int, metavar="N", help="how many, or actors of the cluster (default: one per processor)")
    add("--gpus", type=float, default=0.0, metavar="SHARE", help="of a GPU for each actor of ray (%(default)s)")
    add("--address", metavar="ADDRESS", help="of a running Ray cluster (default: Ray on this machine)")
    add("--batch", type=int, default=32, metavar="N", help="most sentences computed at once (%(default)s)")
    add("--pairs-every", type=int, default=64, metavar="N", help="compare all heads on each Nth sentence (%(default)s)")
    add("--lines", type=int, default=512, metavar="N", help="lines that a process reads at a time (%(default)s)")
    add("--name", default="", metavar="TEXT", help="what the corpus is called on the page (default: the files' names)")
    add("--licence", default="", metavar="TEXT", help="under which it may be used, for the page")
    add("--quote", nargs="+", type=Path, metavar="FILE", help="files whose sentences may be kept as the strongest "
        "examples of a head (default: all)")  # fmt: skip
    add("--restart", action="store_true", help="begin anew, though there is a checkpoint")
    add("--force", action="store_true", help="overwrite an existing file")
    add("--quiet", action="store_true", help="no progress bar, no report")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read the corpus. Exit codes: 0 done, 1 a file or the model can't be used, 2 wrong usage, 130 stopped."""
    from attnviz.corpus.engines import EngineError
    from attnviz.corpus.run import ResumeError
    from attnviz.pretrained.names import ModelError

    return run_checked(_read, arguments, ModelError, ResumeError, EngineError)


def _read(arguments: argparse.Namespace) -> int:
    from attnviz.corpus.blocks import sources
    from attnviz.corpus.run import Job, Run

    job = Job(arguments.model, arguments.batch, arguments.pairs_every, arguments.lines)
    quoted = arguments.quote
    if quoted is not None and not set(quoted) <= set(arguments.files):
        raise ValueError("--quote names files that are not among those that are read")
    files = sources(arguments.files, quoted)
    engine = _engine(arguments, job)
    checkpoint = arguments.out.with_name(f"{arguments.out.name}.checkpoint")
    # A run goes on from its checkpoint, if there is one.
    resumes = checkpoint.exists() and not arguments.restart
    corpus_run = Run.resume(checkpoint, job, files) if resumes else Run(job, files)
    is_done, lines_before = False, corpus_run.lines
    try:
        with wish_to_stop() as is_stopped:
            is_done = _fold_all(corpus_run, engine, checkpoint, is_stopped, quiet=arguments.quiet)
    finally:
        if not is_done and corpus_run.lines > lines_before:  # stopped, or something failed
            corpus_run.save(checkpoint)
    if not is_done:
        return failed(
            f"stopped after {corpus_run.lines:,} of {corpus_run.total:,} lines; the same command resumes", INTERRUPTED
        )
    return _finish(corpus_run, arguments, checkpoint)


def _engine(arguments: argparse.Namespace, job: Job) -> Callable[[Iterator[Block]], Iterator[Read]]:
    from attnviz.corpus.engines import run_local
    from attnviz.settings import processors

    processes = arguments.processes or processors()
    if arguments.engine == "local":
        if arguments.gpus or arguments.address:
            raise ValueError("--gpus and --address go with --engine ray")
        return lambda blocks: run_local(job, blocks, processes)
    from attnviz.corpus.engines import run_ray

    return lambda blocks: run_ray(
        job, blocks, actors=arguments.processes, gpus=arguments.gpus, address=arguments.address
    )


def _fold_all(
    corpus_run: Run,
    engine: Callable[[Iterator[Block]], Iterator[Read]],
    checkpoint: Path,
    is_stopped: Callable[[], bool],
    *,
    quiet: bool,
) -> bool:
    """Fold all blocks; return whether all are done."""
    from tqdm import tqdm

    saved, results = monotonic(), engine(corpus_run.remaining())
    try:
        with tqdm(total=corpus_run.total, initial=corpus_run.lines, unit="sentence", disable=quiet) as bar:
            for read in results:
                corpus_run.fold(read)
                bar.update(read.block.lines)
                if is_stopped():
                    return False
                if monotonic() - saved > SAVED_EVERY:
                    corpus_run.save(checkpoint)
                    saved = monotonic()
        return True
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()  # processes end now, not when the generator is collected


def _finish(corpus_run: Run, arguments: argparse.Namespace, checkpoint: Path) -> int:
    """Write the statistics, and say what was left out."""
    if corpus_run.statistics is None or not corpus_run.statistics.sums["sentences"]:
        if not arguments.quiet:
            sys.stdout.write(_report(corpus_run))
        raise ValueError("the files have no sentence that can be read")
    from attnviz.corpus.run import card_of
    from attnviz.corpus.table import write

    name = arguments.name or ", ".join(source.name for source in corpus_run.sources)
    statistics = corpus_run.statistics.finish()
    write(
        arguments.out,
        statistics,
        card_of(corpus_run, corpus=name, licence=arguments.licence, command=_command(arguments)),
    )
    checkpoint.unlink(missing_ok=True)
    if not arguments.quiet:
        sys.stdout.write(
            f"{arguments.out}: {statistics.sentences:,} sentences, {statistics.tokens:,} tokens\n{_report(corpus_run)}"
        )
        sys.stdout.write(
            f"ATTNVIZ_CORPORA={shlex.quote(str(arguments.out))} shows them on the page Heads of the app.\n"
        )
    return 0


def _report(corpus_run: Run) -> str:
    """Say which lines were left out or cut, and name the first of them."""
    lines = [f"{count:,} {'line' if count == 1 else 'lines'}: {reason}" for reason, count in
             corpus_run.problems.counts.most_common()]  # fmt: skip
    lines += [f"  {corpus_run.sources[place.file].name}, line {place.line:,}: {reason}"
              for place, reason in corpus_run.problems.named]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def _command(arguments: argparse.Namespace) -> str:
    """Return the command that computes the same, with file names without folders."""
    usual = {"batch": 32, "pairs_every": 64, "lines": 512, "name": "", "licence": ""}
    changed = {name: value for name in usual if (value := getattr(arguments, name)) != usual[name]}
    quoted = None if arguments.quote is None else [file.name for file in arguments.quote]
    files = (file.name for file in arguments.files)
    return command_line("corpus", *files, model=arguments.model, **changed, quote=quoted)
