"""Printable labels for pieces of text, so that no axis label or token chip is blank."""

from __future__ import annotations

import unicodedata

_NAMED = {" ": "␣", "\n": "⏎", "\t": "⇥"}
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters and marks without a glyph
_JOINERS = frozenset("\u200c\u200d")


def code_point(character: str) -> str:
    """Return the code point of one character: "é" -> "U+00E9"."""
    return f"U+{ord(character):04X}"


def printable(piece: str) -> str:
    """Return `piece` with each invisible character spelled out. Only "" gives "".

    A space becomes "␣", a line end "⏎", a tab "⇥", any other invisible character its code point ("U+0000").
    Inside a longer piece a code point is written in ⟨⟩, and the joiners inside an emoji are kept.
    """
    if piece.isascii() and piece.isprintable() and " " not in piece:
        return piece  # as most are
    if len(piece) == 1:
        return _NAMED.get(piece) or _spell(piece)
    if all(_is_invisible(character) for character in piece):
        return "".join(_NAMED.get(character) or f"⟨{code_point(character)}⟩" for character in piece)
    return "".join(_spell_inside(character) for character in piece)


def _spell(character: str) -> str:
    if _is_invisible(character):
        return code_point(character)
    if unicodedata.category(character).startswith("M"):
        return "◌" + character  # a combining mark needs a base character
    return character


def _spell_inside(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if _is_invisible(character) and not (character in _JOINERS or _is_variation_selector(character)):
        return f"⟨{code_point(character)}⟩"
    return character


def _is_variation_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "CZ" or character in _BLANK_LETTERS or _is_variation_selector(character)
