"""Links that nobody should send, and everybody can: any key with any value, on any page."""

from __future__ import annotations

from random import Random
from urllib.parse import quote, quote_from_bytes

from attnviz.links.link import KEYS
from attnviz.links.pages import PAGES
from attnviz.measures import NAMES as MEASURES
from attnviz.steps import WALK

PATHS = tuple(page.path.strip("/") for page in PAGES.values())

WORDS = (
    *WALK, *MEASURES, "toy", "pretrained", "trained", "minilm", "encoder", "decoder", "cross", "char", "word",
    "bert",
    "text", "file", "none", "random", "identity", "positions", "causal", "off", "sqrt_c", "chart", "stage", "loop",
    "matrix", "softmax", "data", "0", "1", "2", "5", "8", "11", "64", "0.5", "-0.25", "3.5_4.1", "2.r", "lines",
    "horizontal", "hide", "renormalise", "ab", "norms", "table", "measures", "care", "same", "masked",
)  # fmt: skip
"""What some key takes."""
HOSTILE = (
    "", " ", "-1", "999999999999999999999999", "1e308", "-1e-320", "nan", "inf", "٣", "１２", "0x10", "+1", "1_000",
    "1.", "null", "True", "[]", "[" * 500, "{{7*7}}", "${x}", "%s%n", "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))", "$\\href{javascript:alert(1)}{x}$", ":material/delete:", "'; DROP TABLE x; --",
    "../../../etc/passwd", "/etc/passwd", "~root", "C:\\Windows", "file:///etc/passwd", "http://127.0.0.1:1/x", "a/b/c",
    "\0", "a\0b", "\r\nSet-Cookie: x=1", "\u202eabc", "\u200b", "\ufeff", "e" + "\u0301" * 200, "👩‍👩‍👧‍👦" * 40,
    "مرحبا " * 20,
    "[SEP] [CLS]", "w" * 300, "x y " * 40, "0.0_" * 40 + "0.0", "999.999", "9999.9999_0.r",
)  # fmt: skip
RAW = (b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"%", b"%zz", b"&&==", b"+++")
"""Bytes that are no UTF-8, or no query string."""


def random_links(count: int, seed: int) -> list[tuple[str, str]]:
    """Return pages with query strings of one to six keys, half of the values hostile."""
    random = Random(seed)
    return [(random.choice(PATHS), "&".join(_pair(random) for _ in range(random.randint(1, 6)))) for _ in range(count)]


def _pair(random: Random) -> str:
    name = random.choice([*KEYS, "model", "text", "embed", "no_such_key"])
    kind = random.random()
    if kind < 0.05:
        return f"{name}={quote_from_bytes(random.choice(RAW), safe='%&=+')}"
    return f"{name}={quote(random.choice(HOSTILE if kind < 0.5 else WORDS))}"
