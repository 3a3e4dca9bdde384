"""Patches of Streamlit, one a module: each says why, what it saves, and which functions of Streamlit it replaces.

They are written for one version of Streamlit. With any other version none is applied, and one line says so.
`python -m tests.bench.patches` measures what each of them saves.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata

STREAMLIT = "1.67.0"
"""The version whose functions the patches replace"""
PATCHES = ("theme", "components")
"""The modules of the patches; each has a function `apply`"""


def apply_patches() -> None:
    """Apply every patch to this process; with another version of Streamlit apply none, and say so."""
    installed = metadata.version("streamlit")
    if installed != STREAMLIT:
        sys.stderr.write(f"attnviz: Streamlit is {installed}, not {STREAMLIT}: it runs unpatched, and slower.\n")
        return
    for name in PATCHES:
        import_module(f"{__name__}.{name}").apply()
