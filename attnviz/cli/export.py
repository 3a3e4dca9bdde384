"""`python -m attnviz export`: exports heads, step by step, as slides, PDF, SVG, TikZ, web pages, numbers and code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from attnviz.cli import failed
from attnviz.formatting import counted
from attnviz.hosts import is_local
from attnviz.sources import SOURCES
from attnviz.toy.config import fitting_heads, shared_counts, why_fewer_heads

if TYPE_CHECKING:
    from attnviz.export.jobs import Exporter, Job

ABOUT = """Write the walk through one head of attention, or through many, to files: every step from the tokens to the
output. It works with no network where the model is on this machine; minilm always is."""
FORMATS = ("pptx", "pdf", "svg", "tikz", "csv", "npz", "ipynb", "py", "html")
MAX_TEXTS = 1000


class UsageError(ValueError):
    """The arguments are invalid. The message is one line."""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add this command to the command line."""
    parser = subparsers.add_parser(
        "export", help="write walks to slides, PDF, SVG, TikZ, numbers, code, web pages", description=ABOUT
    )
    add = parser.add_argument
    add("text", nargs="?", help="the text")
    add("--texts", type=Path, metavar="FILE", help="a UTF-8 file with one text per line")
    add("--link", metavar="URL", help="a link copied from the app; other options override it")
    add("--pair", help="a second text")
    add("--source", choices=tuple(SOURCES), help="where attention comes from (default: pretrained, a real model)")
    add("--model", help="minilm, a name on the Hugging Face hub, or a folder")
    add("--kind", choices=("encoder", "decoder", "cross"), help="which attention of the model")
    add("--layer", metavar="N", help="layer, counted from 0 (of Transformer, attention); several as 0,2,3; or all")
    add("--head", metavar="N", help="head, counted from 0; several as 0,2,3; or all")
    add("--steps", default="all", help="all (the default), or some, such as scores,weights")
    add("--format", default="pptx", help=f"one or more of {','.join(FORMATS)} (default: %(default)s)")
    add("--out", type=Path, default=Path(), metavar="DIR", help="output folder, created if missing (default: here)")
    add(
        "--site",
        metavar="URL",
        help="the app's address, for links back (default: the link's, unless it is this machine's; else none)",
    )
    add("--theme", choices=("light", "dark"), default="light", help="colours; TikZ is always light")
    add("--bare", action="store_true", help="SVGs of the picture alone, without title, caption and link")
    add("--force", action="store_true", help="overwrite existing files")
    add("--quiet", action="store_true", help="no progress bar and no list of files")
    _add_toy(parser.add_argument_group("the toy"))
    parser.set_defaults(run=run)


def _add_toy(toy: argparse._ArgumentGroup) -> None:
    """Add the settings of the toy."""
    toy.add_argument("--tokenizer", help="word, char or bert")
    toy.add_argument("--charset", help="shakespeare or text: the characters of --tokenizer char")
    toy.add_argument("--positions", help="none, sinusoidal, lab, random, rotary, alibi or buckets")
    toy.add_argument("--qkv", help="linear, identity or positions")
    toy.add_argument("--heads", help="number of heads, 1 to 8")
    toy.add_argument(
        "--kv-heads",
        help="how many heads of keys and values they share, 1 to 8 (default: as many); except on Transformer, "
        "it needs --qkv linear",
    )
    toy.add_argument("--head-size", help="width of a head, 2 to 64")
    toy.add_argument("--scale", help="sqrt_d, sqrt_c, off or a number")
    toy.add_argument("--model-width", help="numbers of a token, 8 to 512")
    toy.add_argument("--embedding", help="normal or uniform")
    for option, matrix in (("--std-q", "W_Q"), ("--std-k", "W_K"), ("--std-v", "W_V")):
        toy.add_argument(option, help=f"the standard deviation of {matrix}, 0 to 10 (default: 1/√C)")
    toy.add_argument("--mask", help="none or causal")
    toy.add_argument("--padding", help="how many tokens, from the first on, are padding")
    toy.add_argument("--mask-value", help="what hidden cells hold: --mask-value=-inf, -1e10 or -1e10_before (scaling)")
    toy.add_argument("--cap", help="the soft cap of the scaled scores, 0.1 to 1000")
    toy.add_argument("--sink", help="the score of a sink, −100 to 100; a negative one as --sink=-0.5")
    toy.add_argument(
        "--window",
        help="1 to 512: how many of the last keys a query sees, with --mask causal; else half of these on each side",
    )
    toy.add_argument("--qk-norm", help="0, or 1 for normalised queries and keys")
    toy.add_argument("--projection", help="1, or 0 for none")
    toy.add_argument("--projection-bias", help="0, or 1 for projections with biases")
    toy.add_argument("--seed", help="the seed of all weights")


def run(arguments: argparse.Namespace) -> int:
    """Write the files. Exit codes: 0 success, 1 a file could not be made or written, 2 wrong usage."""
    try:
        views, layers, heads = read_views(arguments)
        steps, formats = _steps(arguments.steps, _page(arguments.link)), _choices(arguments.format, FORMATS, "format")
    except UsageError as error:
        return failed(str(error), 2)
    from attnviz.export.drawing.marks import THEMES
    from attnviz.export.jobs import Exporter
    from attnviz.pretrained import ModelError

    theme, page = THEMES[arguments.theme], _page(arguments.link)
    exporter = Exporter(site=_site(arguments), bare=arguments.bare, theme=theme, page=page)
    try:
        jobs = exporter.jobs(views, layers, heads)
    except IndexError as error:
        return failed(str(error), 2)
    except ModelError as error:
        return failed(str(error), 1)
    existing = [name for job in jobs for name in job.files(formats, steps) if (arguments.out / name).exists()]
    if existing and not arguments.force:
        others = f" and {len(existing) - 1} more already exist" if len(existing) > 1 else " already exists"
        return failed(f"{arguments.out / existing[0]}{others}; --force overwrites", 1)
    return _write_all(arguments, exporter, jobs, formats, steps)


def _write_all(
    arguments: argparse.Namespace, exporter: Exporter, jobs: Sequence[Job], formats: Sequence[str], steps: Sequence[str]
) -> int:
    """Write the files of every job. Report files that can't be made, and write all others."""
    from tqdm import tqdm

    from attnviz.export.code.recipes import NoCodeError
    from attnviz.export.drawing.fonts import FontError
    from attnviz.export.files.formats import TooLongError
    from attnviz.export.jobs import NoStepError
    from attnviz.export.numbers import TooManyNumbersError
    from attnviz.export.web import NoPageError
    from attnviz.tokens import NoTokensError

    refusals = (NoTokensError, TooLongError, TooManyNumbersError, FontError, NoCodeError, NoPageError, NoStepError)
    refused, written = [], 0
    with tqdm(total=len(jobs) * len(formats), unit="file", disable=arguments.quiet or None, file=sys.stderr) as bar:
        for job in jobs:
            for kind in formats:
                bar.set_postfix_str(f"{job.stem} {kind}")
                try:
                    files = exporter.make(job, exporter.walk(job.view), kind, steps)
                    arguments.out.mkdir(parents=True, exist_ok=True)
                    for name, content in files.items():
                        (arguments.out / name).write_bytes(content)
                    written += len(files)
                except refusals as error:
                    refused.append(f"{job.stem}, {kind}: {error}")
                except OSError as error:
                    return failed(f"{arguments.out} can't be written: {error.strerror or error}", 1)
                bar.update()
    for message in refused:
        failed(message, 1)
    if not arguments.quiet:
        sys.stdout.write(f"{written} files in {arguments.out.resolve()}\n")
    return 1 if refused else 0


def read_views(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    """Return one view per text, and the requested layers and heads.

    Raises:
        UsageError: an option has an invalid value, or there is no text.
    """
    from attnviz.links.link import KEYS
    from attnviz.links.pages import PAGES
    from attnviz.links.values import BadValueError
    from attnviz.settings import settings
    from attnviz.sources import PRETRAINED, SOURCES, TOY

    linked = dict(parse_qsl(urlsplit(arguments.link).query, keep_blank_values=True)) if arguments.link else {}
    if arguments.link and not urlsplit(arguments.link).scheme.startswith("http"):
        raise UsageError("--link takes an address such as http://localhost:8501/?text=...")
    page = PAGES[_page(arguments.link)]
    view, notes = page.read(page.opened(linked) if arguments.link else {})
    if notes:
        raise UsageError(notes[0])
    fixed_source = page.source
    if fixed_source is not None:
        view["source"] = fixed_source
    elif "source" not in linked and not (arguments.link and arguments.source is None):
        view["source"] = PRETRAINED.key
    choices = {key for source in SOURCES.values() for key in source.keys if key not in ("layer", "head")}
    takes = {"source"} | {key for source in page.sources.values() for key in source.keys}
    for name in ("source", *sorted(choices)):
        raw = getattr(arguments, name, None)  # not every setting has an option
        if raw is None:
            continue
        if name not in takes:
            raise UsageError(f"--{name.replace('_', '-')} is not a setting of the page {page.title}")
        try:
            view[name] = KEYS[name].read(raw)
        except BadValueError as error:
            raise UsageError(f"--{name.replace('_', '-')} {raw} {error}") from error
    if view["source"] == TOY.key:
        _check_heads(arguments, view, takes)
    texts = _texts(arguments) or ([view["text"]] if arguments.link else [])
    if not texts:
        raise UsageError("a text is needed: in quotes, as --texts FILE, or as --link")
    for text in texts:
        if len(text) > (limit := settings().largest_text):
            raise UsageError(f"a text has {len(text):,} characters; at most {limit:,} are allowed")
    name = "block" if "block" in page.keys else "layer"
    is_requested = arguments.layer is not None or view[name] != KEYS[name].default  # else the model's first
    layers = _indices(arguments.layer, view[name], "layer") if is_requested else []
    heads = _indices(arguments.head, view["head"], "head")
    return [{**view, "text": text} for text in texts], layers, heads


def _check_heads(arguments: argparse.Namespace, view: Mapping[str, Any], takes: Collection[str]) -> None:
    """Check that the toy has the numbers of heads and of heads of keys that options ask for.

    A link alone is not checked: its numbers are fitted, as in the app.

    Args:
        arguments: the options.
        view: the link's view with the options.
        takes: the settings that the page has. A whole model has a width, which its heads divide, and no `qkv`: its
            projections are linear.

    Raises:
        UsageError: it can't have them.
    """
    heads, shared = view["heads"], view["kv_heads"]
    if "width" in takes:
        heads = fitting_heads(heads, view["width"])
        if arguments.heads is not None and heads != view["heads"]:
            asked = view["heads"]
            raise UsageError(f"--heads {asked}: a width of {view['width']} can't be divided into {asked} heads")
    if "qkv" in takes and view["qkv"] != "linear":
        if arguments.kv_heads is not None:
            raise UsageError(f"--kv-heads needs --qkv linear: with {view['qkv']}, no keys are shared")
        return
    options = (("--heads", arguments.heads), ("--kv-heads", arguments.kv_heads))
    asked = " ".join(f"{option} {number}" for option, number in options if number is not None)
    if asked and shared not in (None, heads, *shared_counts(heads)):
        fewer = "" if heads == view["heads"] else f"{why_fewer_heads(view['heads'], view['width'])}; "
        whose = "the link's " if arguments.kv_heads is None else ""
        other = " (--kv-heads takes another number)" if whose else ""
        which = f"{whose}{counted(shared, 'head')} of keys and values{other}"
        raise UsageError(f"{asked}: {fewer}{counted(heads, 'head')} can't share {which}")


def _texts(arguments: argparse.Namespace) -> list[str]:
    if arguments.texts is None:
        return [arguments.text] if arguments.text and arguments.text.strip() else []
    if arguments.text is not None:
        raise UsageError("give a text or --texts, not both")
    try:
        lines = arguments.texts.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{arguments.texts} can't be read: {why}") from error
    texts = [line.strip() for line in lines if line.strip()]
    if not 0 < len(texts) <= MAX_TEXTS:
        raise UsageError(f"{arguments.texts} has {len(texts)} texts; 1 to {MAX_TEXTS} are allowed")
    return texts


def _indices(raw: str | None, default: int, name: str) -> list[int]:
    from attnviz.export.jobs import ALL

    if raw is None:
        return [default]
    if raw == "all":
        return [ALL]
    parts = raw.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise UsageError(f"--{name} {raw}: whole numbers from 0, such as 3 or 0,2,3, or all")
    return [int(part) for part in parts]


def _steps(raw: str, page: str) -> list[str]:
    from attnviz.steps import PARTS, WALK

    known = tuple(PARTS if page == "transformer" else WALK)
    return list(known) if raw == "all" else _choices(raw, known, "step")


def _choices(raw: str, known: Sequence[str], what: str) -> list[str]:
    chosen = [part.strip() for part in raw.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in known]
    if unknown or not chosen:
        raise UsageError(f"unknown {what} “{unknown[0] if unknown else raw}”; choose from {', '.join(known)}")
    return list(dict.fromkeys(chosen))


def _page(link: str | None) -> str:
    """Return the name of the app's page that a link leads to, or the start page."""
    from attnviz.links.pages import PAGES

    names = {page.path: page.name for page in PAGES.values()}
    return names.get("/" + urlsplit(link or "").path.rstrip("/").rpartition("/")[2], names["/"])


def _site(arguments: argparse.Namespace) -> str:
    """Return the address that files link to; "" for none: this machine's own only if --site asks for it."""
    if arguments.site:
        return str(arguments.site).rstrip("/")
    link = urlsplit(arguments.link or "")
    return "" if not link.hostname or is_local(link.hostname) else f"{link.scheme}://{link.netloc}"
