"""`python -m tests.slow FILE.xml`: lists the slow tests of a run in `slow.txt`, which `tests/run --quick` leaves out.

The file is what `tests/run -n 2 --junitxml=FILE.xml` writes. A test is slow if its cases take over `LIMIT` together.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).parent / "slow.txt"
LIMIT = 0.25
"""Seconds"""
QUICK = ("tests.app.", "tests.unit.")
"""The folders whose tests `--quick` runs"""


def slow_tests() -> frozenset[str]:
    """Return the listed tests, such as `tests/unit/test_attention.py::test_a_window`."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def function_of(node: str) -> str:
    """Return the test function of a node id, without the parameters of a case."""
    return node.partition("[")[0]


def slowest(cases: Iterable[tuple[str, str, float]], limit: float = LIMIT) -> list[str]:
    """Return the functions whose cases take longer than the limit together; a case is its module, name and seconds."""
    seconds: dict[str, float] = defaultdict(float)
    for module, name, taken in cases:
        if module.startswith(QUICK):
            seconds[f"{module.replace('.', '/')}.py::{function_of(name)}"] += taken
    return sorted(function for function, taken in seconds.items() if taken > limit)


def main(path: str) -> None:
    """Write the list from a report of pytest."""
    cases = ElementTree.parse(path).getroot().iter("testcase")
    found = slowest((case.attrib["classname"], case.attrib["name"], float(case.attrib["time"])) for case in cases)
    head = f"# Tests of over {LIMIT} s, which tests/run --quick leaves out. Made by python -m tests.slow.\n"
    LIST.write_text(head + "\n".join(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
