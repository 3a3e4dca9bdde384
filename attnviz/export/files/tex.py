"""Escapes any text for LaTeX: the result contains no user commands, and pdflatex accepts it."""

from __future__ import annotations

import re
import unicodedata

from attnviz.export.drawing.lines import safe

MISSING = "avmissing"
"""The command for a character that pdflatex's fonts lack; the exported file defines it"""
_RUN = re.compile(rf"(\\{MISSING}\{{[0-9A-F]+\}})(?:\\{MISSING}\{{[0-9A-F]+\}})+")
_ASCII = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", ",": "{,}", "?": "{?}", "!": "{!}", "[": "{[}", "]": "{]}",
}  # fmt: skip
_SIGNS = {
    "−": r"\ensuremath{-}", "–": "--", "—": "---", "…": r"\dots{}", "·": r"\ensuremath{\cdot}",
    "×": r"\ensuremath{\times}", "√": r"\ensuremath{\surd}", "∞": r"\ensuremath{\infty}", "“": "``", "”": "''",
    "‘": "`", "’": "'", "→": r"\ensuremath{\rightarrow}", "←": r"\ensuremath{\leftarrow}",
    "ᵀ": r"\ensuremath{^{\mathsf T}}", "Σ": r"\ensuremath{\Sigma}", "∅": r"\ensuremath{\emptyset}",
    "±": r"\ensuremath{\pm}", "²": r"\ensuremath{^2}", "½": r"\ensuremath{\frac{1}{2}}",
    "α": r"\ensuremath{\alpha}", "β": r"\ensuremath{\beta}", "γ": r"\ensuremath{\gamma}",
    "ε": r"\ensuremath{\varepsilon}", "μ": r"\ensuremath{\mu}", "π": r"\ensuremath{\pi}",
    "σ": r"\ensuremath{\sigma}", "Φ": r"\ensuremath{\Phi}",
    "⟨": r"\ensuremath{\langle}", "⟩": r"\ensuremath{\rangle}", "°": r"\ensuremath{^\circ}",
    "ß": r"\ss{}", "æ": r"\ae{}",
    "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "¡": "!`", "¿": "?`", "£": r"\pounds{}", "§": r"\S{}", "\N{THIN SPACE}": r"\,", "\N{NO-BREAK SPACE}": "~",
    "␣": r"\textvisiblespace{}", "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "≠": r"\ensuremath{\neq}",
}  # fmt: skip
_ACCENTS = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.",
    "\u0308": r'\"', "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0327": r"\c",
}  # fmt: skip


def tex(text: str) -> str:
    """Escape `text` for pdflatex: ASCII is escaped, Latin letters get accent commands, other characters code points.

    Of a run of characters that pdflatex lacks, only the first is named.
    """
    written = "".join(map(_written, unicodedata.normalize("NFC", safe(text))))
    return _RUN.sub(r"\1\\dots{}", written)


def _written(character: str) -> str:
    known = _ASCII.get(character) or _SIGNS.get(character)
    if known:
        return known
    if character.isascii():
        return character
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS:
        letter = {"i": r"\i", "j": r"\j"}.get(parts[0], parts[0])
        return f"{_ACCENTS[parts[1]]}{{{letter}}}"
    return f"\\{MISSING}{{{ord(character):04X}}}"


def tex_address(address: str) -> str:
    """Escape an address for the first argument of \\href."""
    return "".join(
        {"%": r"\%", "#": r"\#", "&": r"\&", "\\": "/", "{": "", "}": ""}.get(c, c) for c in address if " " < c < "\x7f"
    )
