"""What Python and the browser both have to know, as a module of the browser side.

python -m tests.unit.components.constants    # writes it anew; then `npm run build`

Each value stands where Python uses it, and in this list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from attnviz import formatting
from attnviz.compare import matrices as compared
from attnviz.components.styles import SOURCES
from attnviz.document.value import VERSION
from attnviz.export.web.pages import HEADS_KEYS, WALK_KEYS
from attnviz.figures import colour_limit, compose, panels, style
from attnviz.figures.style import DARK, LIGHT, Palette
from attnviz.heads import all_heads
from attnviz.links import values
from attnviz.links.link import KEYS, SHARED_KEYS
from attnviz.links.pages import PAGES
from attnviz.links.values import Heads, Integer, Key, Number, OneOf, Switch
from attnviz.mask_reasons import REASON_SIGNS, REASON_WORDS, REASONS
from attnviz.measures import summary, thumbnails
from attnviz.steps import PARTS, picture, weights
from attnviz.ui.tokens import chips

FILE = SOURCES / "core" / "constants.ts"
HEAD = """\
// What Python and the browser both have to know: written by `python -m tests.unit.components.constants`, in which each
// value is listed with its place in Python. A test compares the two.
"""
WIDTH = 120
"""The most characters of a line"""
LINKED = (*dict.fromkeys((*WALK_KEYS, *HEADS_KEYS)), "seed", "lecture")
"""The link keys that the browser itself reads, writes or has defaults of"""
MADE_LATER = ("step", "focus", "sort", "label")
"""Keys whose words the browser gets with the view"""
THEMES: Mapping[str, Palette] = {"light": LIGHT, "dark": DARK}


def constants() -> dict[str, tuple[str, Any]]:
    """Return what is written, by name: a comment and a value that JSON has."""
    return {
        "INK": ("The colours of roles and of text, for areas and large marks.", by_theme(ink)),
        "TEXT_INK": (
            "The same as text: with a contrast of 4.5 and more to the ground, for small type.", by_theme(text_ink)
        ),
        "SCALES": (
            "The colours of numbers, evenly spaced. Brown is negative, the canvas's own colour is 0, purple positive; "
            "weights go from the canvas to purple.",
            by_theme(scales),
        ),
        "HATCH": (
            "Hatching of cells that are masked, by why they are: ground and line.",
            by_theme(lambda one: {reason: list(colours) for reason, colours in one.hatch.items()}),
        ),
        "MASK_REASONS": (
            "Why a mask hides a cell, in the order of legends: how its hatching looks, and its name.",
            {name: {"sign": REASON_SIGNS[name], "words": REASON_WORDS[name]} for name in REASONS},
        ),
        "PAPER": ("The ground of a page and of an exported picture.", by_theme(lambda one: one.paper)),
        "HEADING": ("Text on it.", by_theme(lambda one: one.heading)),
        "RULE_OPACITY": ("Of a line that is less important.", style.RULE_OPACITY),
        "ON_CELL": (
            "Text on a coloured cell: dark where its luminance, 0 to 255, is above `from`.",
            {"dark": style.INK_ON_LIGHT, "light": style.INK_ON_DARK, "from": style.LIGHT_FROM},
        ),
        "DARKENED_LIMIT": (
            "Colours of weights end by themselves at the largest weights from `many` keys on, at the one that this "
            "`share` of the rows does not exceed; nowhere if that is not `below` a weight.",
            {"many": picture.MANY, "share": colour_limit.SHARE, "below": colour_limit.DARKENED_BELOW},
        ),
        "COLOUR_LIMIT": (
            "Colours of other matrices end at the magnitude that this share (`middle`) of the numbers does not exceed, "
            "if the largest is more than this multiple of it.",
            {"middle": colour_limit.MIDDLE, "bleached": colour_limit.BLEACHED},
        ),
        "FAINT_BELOW": ("Weights that are hardly told from 0 where colours go to 1.", weights.FAINT_BELOW),
        "AXIS_TITLES": ("The names of axes, by their kinds.", style.AXIS_TITLE),
        "ROWS_AND_COLUMNS": ("What is said of matrices of queries and keys.", style.ROWS_AND_COLUMNS),
        "TURN": ("Degrees by which labels of columns are turned that do not fit side by side.", style.TURN),
        "NUMBERED_LABELS": (
            "With more tokens, a label says its position where only every n-th has one.", style.NUMBERED_LABELS
        ),
        "CELL_NUMBERS": (
            "How numbers in cells and beside colour bars are written: with one decimal from a magnitude on; with three "
            "beside a bar that ends below another; in narrow cells without the zero before the point if all are below; "
            "with ≥ or ≤ at the end of a bar of which numbers go beyond this multiple.",
            {
                "oneDecimalFrom": panels.ONE_DECIMAL_FROM, "threeDecimalsBelow": panels.THREE_DECIMALS_BELOW,
                "bareBelow": panels.BARE_BELOW, "beyond": panels.BEYOND,
            },
        ),
        "CHART": (
            "A Plotly figure: attnviz/figures/compose.py and panels.py say what each is.",
            {
                "gap": {"x": panels.GAP[0], "y": panels.GAP[1]}, "numbered": panels.NUMBERED, "spaced": panels.SPACED,
                "colourBar": compose.COLOUR_BAR,
                "usual": {"width": compose.USUAL_WIDTH, "height": compose.USUAL_HEIGHT},
                "needed": {**compose.NEEDED_ACROSS, "rows": compose.NEEDED_DOWN}, "margins": compose.MARGINS,
                "longest": style.LONGEST_LABEL,
            },
        ),
        "FORMAT": (
            "Numbers as text: digits of a weight, of a number near 0; where powers of ten begin; rounding of 100 %.",
            {
                "digits": formatting.DIGITS, "tiny": formatting.TINY_DIGITS, "huge": formatting.HUGE,
                "rounded": formatting.ROUNDED_PERCENT,
            },
        ),
        "LISTED": (
            "Tokens that are listed, at most.",
            {"most": chips.MAX_CHIPS},
        ),
        "WEIGHT_LEVELS": (
            "A weight of 1 as 16 bits; how far from the model's own a weight may be that was sent so.",
            {"full": thumbnails.FULL, "error": all_heads.ERROR},
        ),
        "COMPARED_LEVELS": (
            "A matrix of a comparison as 16 bits: the level of its largest number, and that of no number.",
            {"full": compared.LEVELS, "missing": compared.MISSING},
        ),
        "THUMBNAIL": ("Cells along the longer side of a thumbnail.", thumbnails.SIZE),
        "BROAD_ENTROPY": (
            "A head looks everywhere from this share of the entropy of uniform attention on.", summary.MIN_BROAD_ENTROPY
        ),
        "DOCUMENT_VERSION": ("The only one that is read.", VERSION),
        "STEP_ORDER": (
            "All steps of walks, in order. What a layer lacks is replaced by the nearest step before it.", list(PARTS)
        ),
        "ROLLOUT": ("The head that stands for the rollout up to a layer.", values.ROLLOUT),
        "MOST_HEADS": ("Heads that are shown together.", values.MAX_CHOSEN),
        "SHARED_KEYS": ("The keys of links that all pages share.", list(SHARED_KEYS)),
        "PAGE_PATHS": (
            "The paths of all pages, below that of the app.", [page.path.strip("/") for page in PAGES.values()]
        ),
        "LINK_KEYS": (
            "The keys of links: their defaults, and what they take. Words that depend on the view come with it.",
            {name: described(KEYS[name], later=name in MADE_LATER) for name in LINKED},
        ),
    }  # fmt: skip


def by_theme(of: Any) -> dict[str, Any]:
    return {name: of(palette) for name, palette in THEMES.items()}


def ink(palette: Palette) -> dict[str, str]:
    roles = {role: getattr(palette.ink, role) for role in ("query", "key", "value", "attention")}
    return {**roles, "text": palette.text, "canvas": palette.canvas, "rule": style.RULE}


def text_ink(palette: Palette) -> dict[str, str]:
    return {**ink(palette), **{role: getattr(palette.text_ink, role) for role in palette.text_ink.__slots__}}


def scales(palette: Palette) -> dict[str, list[str]]:
    return {"signed": colours(palette.signed), "weights": colours(palette.weights)}


def colours(scale: style.Colours) -> list[str]:
    """Return the colours of a scale, which are evenly spaced."""
    assert [stop for stop, _ in scale] == [n / (len(scale) - 1) for n in range(len(scale))]
    return [str(colour) for _, colour in scale]


def described(key: Key, *, later: bool = False) -> dict[str, Any]:
    """Return what the browser has to know of a link key."""
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    match key.values:
        case Integer(low, high):
            return {"kind": "integer", "default": default, "low": low, "high": high}
        case Number(high, low, decimals):
            return {"kind": "number", "default": default, "low": low, "high": high, "decimals": decimals}
        case Switch():
            return {"kind": "switch", "default": default}
        case Heads():
            return {"kind": "heads", "default": default}
        case OneOf(offered) if not later:
            return {"kind": "word", "default": default, "words": list(offered())}
        case _:
            return {"kind": "text", "default": default}


def written() -> str:
    """Return the module."""
    return HEAD + "".join(
        f"\n{comment(words)}export const {name} = {literal(value)}{' as const' if name == 'LINK_KEYS' else ''};\n"
        for name, (words, value) in constants().items()
    )


def comment(words: str) -> str:
    """Return a comment, broken into lines as Prettier leaves it."""
    if len(words) + 7 <= WIDTH:
        return f"/** {words} */\n"
    lines, line = [], ""
    for word in words.split():
        if len(line) + len(word) + 4 > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "/**\n" + "".join(f" * {each}\n" for each in [*lines, line]) + " */\n"


def literal(value: Any, indent: str = "") -> str:
    """Return a value of JSON as Prettier writes it, where an object has a line for each key."""
    inner = f"{indent}  "
    if isinstance(value, Mapping):
        keys = {name: name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else json.dumps(name) for name in value}
        rows = (f"{inner}{keys[name]}: {literal(each, inner)},\n" for name, each in value.items())
        return "{\n" + "".join(rows) + indent + "}"
    if isinstance(value, list):
        line = f"[{', '.join(literal(each, inner) for each in value)}]"
        if len(indent) + len(line) + 12 <= WIDTH:
            return line
        return "[\n" + "".join(f"{inner}{literal(each, inner)},\n" for each in value) + indent + "]"
    return re.sub(r"(?<=\de)-0(?=\d$)", "-", json.dumps(value, ensure_ascii=False))


def main() -> None:
    """Write the module."""
    FILE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
