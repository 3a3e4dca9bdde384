"""Runs the notebooks in examples/. `python -m tests.examples` keeps the outputs of a new run in the files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import nbformat
from nbclient import NotebookClient

RESET = """\
%reset -f
__import__("torch").seed()
__import__("numpy").random.seed()
__import__("random").seed()
with __import__("warnings").catch_warnings():
    pass  # its filters count as changed then, and each that they held back is given again
"""
"""Deletes all names. What is drawn is as random as in a new process; modules and their settings stay."""
ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@contextmanager
def kernel() -> Iterator[Callable[[Path], nbformat.NotebookNode]]:
    """Start a kernel that imports this checkout; what is yielded runs a notebook in it, after `RESET`."""
    folder = {"metadata": {"path": str(ROOT / "examples")}}
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=120, store_widget_state=False, resources=folder)
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # With two threads, a training of seconds takes minutes where other processes use the cores.
    with client.setup_kernel(env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}):
        yield partial(run, client)


def run(client: NotebookClient, path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run.

    Of a widget only its picture and its repr are kept: without its kernel, a reader has nothing else to show.
    """
    notebook = nbformat.read(path, as_version=4)
    for cells in ([nbformat.v4.new_code_cell(RESET)], notebook.cells):
        client.nb = nbformat.v4.new_notebook(cells=cells)
        client.execute(cleanup_kc=False)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return notebook


def main() -> None:
    """Write the outputs of a new run into the files that the command line names, or into all."""
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS
    for path in chosen:
        with kernel() as run_in_it:
            notebook = run_in_it(path)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
