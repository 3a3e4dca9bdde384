"""Writes sheets as TikZ: one .tex file for pdflatex, as Beamer slides if Beamer is installed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from attnviz.export.drawing.lines import safe, safe_font_size
from attnviz.export.drawing.marks import Box, Drawing, Gradient, Line, Mark, Matrix, Plain, Text
from attnviz.export.drawing.picture import hexadecimal, ink_on, shorten
from attnviz.export.sheets import MARGIN, WIDTH, Sheet, caption, draw_picture
from attnviz.figures.panels import NUMBERED
from attnviz.figures.style import runs
from attnviz.formulas import latex

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
    "σ": r"\ensuremath{\sigma}", "θ": r"\ensuremath{\theta}", "Φ": r"\ensuremath{\Phi}",
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

    Of a run of characters that pdflatex lacks, only the first is written as its code point.
    """
    written = "".join(map(_written, unicodedata.normalize("NFC", safe(text))))
    return _RUN.sub(r"\1\\dots{}", written)


def _written(character: str) -> str:
    command = _ASCII.get(character) or _SIGNS.get(character)
    if command:
        return command
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


CENTIMETRE = 0.0125
"""Centimetres per pixel: a 16:9 Beamer slide is 16 cm wide"""
POINT = CENTIMETRE * 72.27 / 2.54
BIG_POINT = CENTIMETRE * 72 / 2.54
LINK_WIDTH = 860.0
PICTURE_HEIGHT = 440.0
"""The height in pixels between the title and the notice on a Beamer slide"""

_HEAD = r"""% One head of attention, step by step, by attnviz. Compile it with pdflatex; it only needs TikZ.
% With Beamer, each step is a slide. To use a picture in your own slides, copy the part between the dashed lines, the
% tikzpicture, and the \def\avimage... before it.
\IfFileExists{beamer.cls}{%
  \documentclass[aspectratio=169]{beamer}%
  \setbeamertemplate{navigation symbols}{}\setbeamersize{text margin left=5mm,text margin right=5mm}%
}{%
  \documentclass{article}%
  \pdfpagewidth=16cm \pdfpageheight=9cm \hoffset=-1in \voffset=-1in \oddsidemargin=5mm \topmargin=3mm
  \headheight=0pt \headsep=0pt \footskip=0pt \textwidth=15cm \textheight=8.4cm \parindent=0pt \pagestyle{empty}%
}
% ------------------------------------------------------------------------------------------------------------------
\usepackage{fix-cm}
\usepackage{tikz}
\usetikzlibrary{patterns}
\makeatletter
% Characters that pdflatex's fonts lack are written as code points. With LuaLaTeX or XeLaTeX and a suitable font:
% \renewcommand{\avmissing}[1]{\char"#1 }
\newcommand{\avmissing}[1]{{\fontsize{4}{4}\selectfont U{+}#1}}
\providecommand{\href}[2]{#2}
\providecommand{\boxed}[1]{\fbox{$\displaystyle #1$}}
\providecommand{\operatorname}[1]{\mathop{\mathrm{#1}}\nolimits}
\providecommand{\tfrac}[2]{{\textstyle\frac{#1}{#2}}}
\providecommand{\text}[1]{\mbox{#1}}
\newcommand{\avsize}[1]{\fontsize{#1}{#1}\selectfont}
\providecommand{\textquotedbl}{\char34 }
\providecommand{\textquotesingle}{\char39 }
\providecommand{\textasciigrave}{\char96 }
% \avcell{row}{column}{colour}{ink}{number}, in a scope whose units are one cell; \avhidden{row}{column}{columns}
% of a later key; \avwindow and \avpadding of a key outside of the window, and of padding
\newcommand{\avcell}[5]{\definecolor{avcell}{HTML}{#3}\definecolor{avink}{HTML}{#4}%
  \fill[avcell,draw=white,line width=0.35pt] (#2,#1) rectangle ++(1,1);\node[text=avink] at (#2+0.5,#1+0.5) {#5};}
\newcommand{\avhatched}[5]{\fill[#1] (#4,#3) rectangle ++(#5,1);%
  \fill[pattern=#2,pattern color=black!38] (#4,#3) rectangle ++(#5,1);}
\newcommand{\avhidden}{\avhatched{black!17}{north east lines}}
\newcommand{\avwindow}{\avhatched{black!8}{north west lines}}
\newcommand{\avpadding}{\avhatched{black!28}{crosshatch}}
% Matrices with many cells are inline images: \avimage{left}{bottom}{width}{height}{columns}{rows}{colours}
\newcommand{\avimage}[7]{\pgfsys@invoke{q #3 0 0 #4 #1 #2 cm BI /W #5 /H #6 /CS /RGB /BPC 8 /F /AHx ID #7> EI Q}}
\makeatother
\tikzset{avpicture/.style={x=0.0125cm,y=-0.0125cm,every node/.style={inner sep=0pt,outer sep=0pt,font=\sffamily}}}
% ------------------------------------------------------------------------------------------------------------------
% \avslide{title}{subject}{formula}{picture}{notice}{link}
\makeatletter
\@ifclassloaded{beamer}{%
  \newcommand{\avslide}[6]{\frame[t]{\frametitle{#1}%
    {\small $\displaystyle #3$}\hfill{\scriptsize #2}\par\vspace{1mm}\centering #4\par\vfill
    \raggedright{\footnotesize #5}\par{\tiny #6}}}%
}{%
  \newcommand{\avslide}[6]{\clearpage\vbox to\textheight{\hsize=\textwidth\sffamily{\large\bfseries #1}\hfill
    {\scriptsize #2}\par\vskip 1mm{\small $\displaystyle #3$}\par\vskip 1mm{\centering #4\par}\vfill
    {\footnotesize\raggedright #5\par}{\tiny #6\par}}}%
}
\makeatother
"""


def write_tikz(sheets: Sequence[Sheet]) -> str:
    """Return one LaTeX document in ASCII with a slide for each sheet. All user text is escaped."""
    slides = "\n".join(_slide(sheet) for sheet in sheets)
    colours = sorted(set(re.findall(r"\bav([0-9A-F]{6})\b", slides)))
    named = "".join(f"\\definecolor{{av{colour}}}{{HTML}}{{{colour}}}\n" for colour in colours)
    return f"{_HEAD}{named}\\begin{{document}}\n{slides}\n\\end{{document}}\n"


def _slide(sheet: Sheet) -> str:
    images, lines = picture(draw_picture(sheet, top=0, bottom=PICTURE_HEIGHT))
    formula = latex(sheet.formula, lambda role: f"av{sheet.theme.text_ink.of(role)[1:]}")
    link = ""
    if sheet.link:
        shown = tex(shorten(sheet.link, LINK_WIDTH, 14))
        link = f"\\href{{{tex_address(sheet.link)}}}{{{shown}}}"
    parts = (tex(sheet.title), tex(sheet.walk.name), formula, f"%\n{lines}%\n", tex(caption(sheet)), link)
    return f"% ---- {sheet.step}\n{images}\\avslide" + "".join(f"{{{part}}}" for part in parts)


def picture(marks: Sequence[Mark]) -> tuple[str, str]:
    """Return the definitions that a picture needs, and its marks as one tikzpicture in pixels of the sheet.

    Large matrices are defined first: inside an argument of \\avslide, TeX would keep several copies of each.
    """
    flat = Drawing(WIDTH, 0, tuple(marks)).flat
    large = [mark for mark in flat if isinstance(mark, Matrix) and _is_large(mark)]
    images = "".join(f"\\def\\avimage{_letter(i)}{{{_image(matrix)}}}\n" for i, matrix in enumerate(large))
    box = f"\\path[use as bounding box] {_rectangle(MARGIN, 0, WIDTH - 2 * MARGIN, PICTURE_HEIGHT)};"
    lines = []
    for mark in flat:
        lines += [f"\\avimage{_letter(large.index(mark))}"] if mark in large else []
        lines += _mark(mark)
    return images, "\n".join(["\\begin{tikzpicture}[avpicture]", box, *lines, "\\end{tikzpicture}"])


def _is_large(matrix: Matrix) -> bool:
    return max(matrix.rows, matrix.cols) > NUMBERED


def _letter(number: int) -> str:
    return chr(ord("A") + number)


def _mark(mark: Plain) -> Iterator[str]:
    match mark:
        case Text():
            yield _text(mark)
        case Line():
            ends = f"{_at(mark.x1, mark.y1)} -- {_at(mark.x2, mark.y2)}"
            yield f"\\draw[av{mark.colour[1:]},line width={_n(mark.width * POINT)}pt] {ends};"
        case Box():
            fill = f"fill=av{mark.fill[1:]}," if mark.fill else ""
            draw = f"draw=av{mark.outline[1:]},line width={_n(mark.line * POINT)}pt" if mark.outline else ""
            yield f"\\path[{fill}{draw}] {_rectangle(mark.x, mark.y, mark.width, mark.height)};"
        case Gradient():
            yield from _gradient(mark)
        case Matrix():
            yield from _matrix(mark)


def _text(text: Text) -> str:
    anchor = {"start": "base west", "middle": "base", "end": "base east"}[text.anchor]
    turn = f",rotate={_n(text.turn)}" if text.turn else ""
    look = f"\\avsize{{{_n(text.size * POINT)}}}" + (r"\bfseries " if text.bold else "")
    options = f"anchor={anchor},text=av{text.colour[1:]}{turn}"
    return f"\\node[{options}] at {_at(text.x, text.y)} {{{look}{tex(text.text)}}};"


def _gradient(bar: Gradient) -> Iterator[str]:
    high = bar.height / (len(bar.colours) - 1)
    for i, (top, bottom) in enumerate(pairwise(bar.colours)):
        box = _rectangle(bar.x, bar.y + i * high, bar.width, high)
        yield f"\\shade[top color=av{top[1:]},bottom color=av{bottom[1:]}] {box};"


def _matrix(matrix: Matrix) -> Iterator[str]:
    wide, high = matrix.cell
    yield f"% {matrix.name}, {matrix.rows} x {matrix.cols}"
    size = max(1.0, safe_font_size(matrix) * POINT)
    yield (
        f"\\begin{{scope}}[shift={{{_at(matrix.x, matrix.y)}}},x={_n(wide * CENTIMETRE, 5)}cm,"
        f"y=-{_n(high * CENTIMETRE, 5)}cm,every node/.append style={{font=\\sffamily\\avsize{{{_n(size)}}}}}]"
    )
    if not _is_large(matrix):
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                if not matrix.hidden[i, j]:
                    colour, number = matrix.colours[i, j], matrix.numbers[i][j] if matrix.numbers else ""
                    shown = f"${number.replace('−', '-')}$" if number else ""
                    yield f"\\avcell{{{i}}}{{{j}}}{{{hexadecimal(colour)[1:]}}}{{{ink_on(colour)[1:]}}}{{{shown}}}"
    hatches = matrix.hatches
    for code, command in enumerate(("avhidden", "avwindow", "avpadding"), 1):
        for i, at, end in runs(hatches == code):
            yield f"\\{command}{{{i}}}{{{at}}}{{{end - at}}}"
    yield "\\end{scope}"
    box = _rectangle(matrix.x, matrix.y, matrix.width, matrix.height)
    yield f"\\draw[black!30,line width=0.25pt] {box};"


def _image(matrix: Matrix) -> str:
    """Return a matrix as an inline image with at most one point per pixel of the sheet."""
    colours = _pooled(matrix)
    rows, cols = colours.shape[:2]
    digits = colours.tobytes().hex().upper()
    lines = "\n".join(digits[at : at + 114] for at in range(0, len(digits), 114))
    left, bottom = matrix.x * BIG_POINT, -(matrix.y + matrix.height) * BIG_POINT
    size = (left, bottom, matrix.width * BIG_POINT, matrix.height * BIG_POINT)
    return "\\avimage" + "".join(f"{{{_n(edge, 3)}}}" for edge in size) + f"{{{cols}}}{{{rows}}}{{{lines}}}"


def _pooled(matrix: Matrix) -> np.ndarray:
    """Reduce colours to one per pixel. Of cells that share a pixel, the one with the largest magnitude wins."""
    colours, size = matrix.colours, np.nan_to_num(np.abs(matrix.values), nan=-1.0)
    for axis, length in ((0, matrix.height), (1, matrix.width)):
        count = colours.shape[axis]
        blocks = max(1, min(count, int(length)))
        if blocks == count:
            continue
        edges = [round(count * block / blocks) for block in range(blocks + 1)]
        parts = [range(first, last) for first, last in pairwise(edges)]
        picks = np.stack([size.take(part, axis).argmax(axis) + part.start for part in parts], axis)
        colours = np.take_along_axis(colours, picks[..., None], axis)
        size = np.take_along_axis(size, picks, axis)
    return np.ascontiguousarray(colours)


def _at(x: float, y: float) -> str:
    return f"({_n(x)},{_n(y)})"


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"{_at(x, y)} rectangle {_at(x + width, y + height)}"


def _n(number: float, digits: int = 2) -> str:
    return f"{number:.{digits}f}".rstrip("0").rstrip(".")
