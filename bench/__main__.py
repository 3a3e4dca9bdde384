"""`python -m bench`: attnviz against a plain 40-line Streamlit app, and against BertViz, side by side in one run.

Every figure is a median of several, the two measured in turns; what counts is the ratio. The part against BertViz is
"heads": it takes about ten minutes and wants 4 GB of free memory (with --patient, 12 GB).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # with two, a busy neighbour makes torch several times slower
os.environ["HF_HUB_OFFLINE"] = "1"

from bench import bertviz_views, corpus, first_visit, forward, frames, heads, load, memory, screen, training
from bench.apps import PLAIN_SCRIPT, plain
from bench.table import Row, table

PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "cold": lambda asked: screen.cold_rows(plain(asked.plain)),
    "visit": lambda _: first_visit.rows(),
    "changes": lambda asked: screen.change_rows(plain(asked.plain)),
    "forward": lambda _: forward.rows(),
    "heads": lambda asked: heads.rows(tuple(asked.tokens), asked.rounds, patient=asked.patient),
    "frames": lambda _: frames.rows(),
    "blocks": lambda _: frames.block_rows(),
    "parts": lambda _: screen.part_rows(),
    "memory": lambda asked: memory.rows(asked.texts),
    "load": lambda asked: load.rows(asked.sessions, asked.seconds),
    "hostile": lambda _: load.hostile_rows(),
    "training": lambda _: training.rows(),
    "tasks": lambda _: training.task_rows(),
    "encoding": lambda _: corpus.encoding_rows(),
    "corpus": lambda _: corpus.rows(),
}


def main() -> None:
    """Run what was asked for and print one table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--plain", type=Path, default=PLAIN_SCRIPT, help="another Streamlit app to compare with")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts alone")
    parser.add_argument("--tokens", nargs="+", type=int, choices=heads.LENGTHS, default=heads.LENGTHS, help="for heads")
    parser.add_argument("--rounds", type=int, default=heads.ROUNDS, help="for heads: visits to each page")
    parser.add_argument("--texts", type=int, default=memory.TEXTS, help="for memory: texts that go through every page")
    parser.add_argument("--sessions", nargs="+", type=int, default=load.COUNTS, help="for load: how many at once")
    parser.add_argument("--seconds", type=float, default=load.SECONDS, help="for load: how long they work")
    parser.add_argument("--patient", action="store_true", help="run even what BertViz is known not to survive")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    asked = parser.parse_args()

    if "heads" in (asked.only or PARTS):
        bertviz_views.prepare()
    rows = []
    for name in asked.only or PARTS:
        for row in PARTS[name](asked):
            rows.append(row)
            sys.stderr.write(f"{row.what}: {row.measured:.2f}\n")
    sys.stdout.write(table(rows) + "\n")
    if asked.json:
        asked.json.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
