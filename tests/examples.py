"""Runs the notebooks in examples/. `python -m tests.examples` keeps the outputs of a new run in the files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def run(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a run in a kernel that imports this checkout.

    Of a widget only its picture and its repr are kept: without its kernel, a reader has nothing else to show.
    """
    notebook = nbformat.read(path, as_version=4)
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    client = NotebookClient(
        notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": str(path.parent)}}
    )
    # With two threads, a training of seconds takes minutes where other processes use the cores.
    client.execute(env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}, cleanup_kc=True)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return notebook


def main() -> None:
    """Write the outputs of a new run into the files that the command line names, or into all."""
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS
    for path in chosen:
        nbformat.write(run(path), path)


if __name__ == "__main__":
    main()
