"""How much of a room's screen the picture of a scene takes, in lecture mode: one scene of each kind."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.settle import settled

SHARE = """(selector) => {
  const roots = [document, ...[...document.querySelectorAll(".attnviz-isolated")].flatMap((e) => e.shadowRoot ?? [])];
  const boxes = roots.flatMap((root) => [...root.querySelectorAll(selector)])
    .filter((picture) => picture.checkVisibility({ visibilityProperty: true }))
    .map((picture) => picture.getBoundingClientRect());
  const heights = boxes.map(({ top, bottom }) => Math.min(bottom, innerHeight) - Math.max(top, 0));
  return Math.max(0, ...heights) / innerHeight;
}"""
"""The part of the window's height that the highest of these pictures takes."""

BOARD = ".attnviz-board"
PLOT = ".js-plotly-plot"
CONTROLS = ".transport .main, .opener button, .runs button"
"""What a visitor sets of a training"""
LEAST = {
    ("attention", 1): {BOARD: 0.79},  # averages
    ("attention", 6): {BOARD: 0.77},  # a step, three lines of text
    ("why", 1): {BOARD: 0.79},  # a step, two lines of text
    ("attention", 8): {BOARD: 0.77},  # a covered row
    ("heads", 4): {BOARD: 0.79},  # a head of a real model
    ("transformer", 9): {BOARD: 0.77},  # Transformer, three lines
    ("transformer", 7): {BOARD: 0.79},  # Transformer, two lines
    ("transformer", 5): {BOARD: 0.74},  # Transformer, a formula with a fraction
    ("claims", 1): {".ov-row": 0.84},  # the figure of a whole model
    ("mistakes", 1): {".mistake": 0.86},  # a mistake
    ("heads", 1): {".pictures": 0.82},  # lines and heatmap of a head
    ("why", 4): {BOARD: 0.74},  # Compare
    ("why", 9): {BOARD: 0.74},  # two heads
    ("forming", 6): {".curve": 0.77, "svg.curves": 0.64},  # curves, a heading with the step, four lines of text
    ("forming", 8): {BOARD: 0.77},  # a head of a training
    ("claims", 4): {".generation": 0.82},  # a text that a model writes
    ("ladder", 1): {BOARD: 0.7},  # tables of pairs
    ("ladder", 6): {"svg.curves": 0.76},  # losses of models
    ("ladder", 5): {BOARD: 0.79},  # a head of a model among others
    ("explanation", 2): {BOARD: 0.79},  # all heads, switched off
    ("claims", 3): {PLOT: 0.77},  # a plot of a classifier
    ("bert", 5): {PLOT: 0.74},  # plots of a text
    ("bert", 6): {PLOT: 0.66},  # plots below a text field, which the sentence names
    ("bert", 3): {BOARD: 0.78},  # a matrix beside two plots
    ("bert", 2): {".back-rows": 0.72},  # a table
    ("bert", 8): {".calls": 0.71},  # a table of actions
    ("bert", 9): {PLOT: 0.72},  # a plot below what is said of it
}
"""By lesson and scene: its pictures, each with the least part of the window's height that it takes"""

ON_A_PROJECTOR = {
    *(("attention", n) for n in (1, 6)),
    *(("bert", n) for n in (2, 3, 5, 8, 9)),
    *(("claims", n) for n in (1, 3, 4)),
    *(("forming", n) for n in (6, 8)),
    *(("ladder", n) for n in (1, 6)),
    ("explanation", 2),
    ("heads", 1),
    ("transformer", 5),
    *(("why", n) for n in (4, 9)),
}
"""Of these, one for each view that gives a picture its height: they are measured in a large window too"""


def takes_the_height(page: Page, pictures: dict[str, float], where: object) -> None:
    """Hold that the pictures of a scene take the height that its sentence leaves, and nothing else takes any."""
    for picture in pictures:
        expect(page.locator(f"{picture}:visible").first).to_be_visible()  # a snapshot of a training comes by itself
    settled(page)
    for part in (".lesson-says", ".st-key-scene_on"):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)
    for picture, least in pictures.items():
        share = page.evaluate(SHARE, picture)
        assert share >= least, (where, picture, share)
    for left in (".player", ".diagram", ".stepper .row", CONTROLS):
        assert page.evaluate(SHARE, left) == 0, (where, left)
