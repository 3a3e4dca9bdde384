"""How often a vowel follows a consonant in a text, beside how often a vowel occurs at all: what a table of pairs knows.

Shapes: N characters of a text, V different ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters

import torch
from torch import Tensor

VOWELS = "aeiou"
"""In English, in either case. The others of the 26 letters are consonants, "y" too; letters with marks are neither"""


@dataclass(frozen=True, slots=True)
class Vowels:
    """What is counted in a text."""

    followed: int
    """Pairs of a consonant and the character after it"""
    by_vowel: int
    """Those of them in which it is a vowel"""
    characters: int
    """N"""
    vowels: int
    """Those of them that are vowels"""


def vowels_in(ids: Tensor, counts: Tensor, labels: Sequence[str]) -> Vowels | None:
    """Count vowels after consonants, and vowels.

    Args:
        ids: (N,), the text.
        counts: (V, V), how often j follows i in it.
        labels: the V characters.

    Returns:
        None if the text has no vowel, or no consonant with a character after it: there is nothing to compare.
    """
    vowel = torch.tensor([len(one) == 1 and one.lower() in VOWELS for one in labels])
    consonant = torch.tensor([one in ascii_letters for one in labels]) & ~vowel
    after = counts[consonant]
    found = Vowels(int(after.sum()), int(after[:, vowel].sum()), len(ids), int(vowel[ids].sum()))
    return found if found.followed and found.vowels else None
