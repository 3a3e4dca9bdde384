"""At most seven controls are seen in each chapter before a visitor asks for more, at 1280 x 720.

A control is a button, a field, a menu, a slider, a switch, or a link that stands by itself. These count as one: the
tabs or the buttons of one choice, a text field with "Apply", a list of cards, hits or models of which one is
opened, the heads of a grid, a picture with its legend and its zoom, the bar that starts a training, the bar that
plays it, and the row of pages on which a model is opened. Not counted are the toolbar, the places and chapters,
which are the same on every page, the closed side bar, and the help buttons.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from attnviz.links.pages import PAGES, Chapter
from tests.browser.settle import settled

MOST = 7
CONTROLS = """() => {
  const CONTROL = 'button, a[href], input, select, textarea, summary, [role=button], [role=switch], [role=slider]';
  const GROUP = '[role=tablist], [role=radiogroup], [role=group], [data-testid=stButtonGroup], .st-key-text_place, ' +
    '.apply, .grid, .detail, .attnviz-board, .focus-buttons, .js-plotly-plot, .transport, .scrubber, .stages, ' +
    '[class*=st-key-hits_], .st-key-lesson_cards, .st-key-example_cards, [data-testid=stDataFrame], ' +
    '[data-testid=stNumberInput], [data-testid=stSlider], [data-testid=stSelectbox]';
  const OUTSIDE = '.st-key-toolbar, .st-key-places, [data-testid=stSidebar], .stTooltipIcon, [data-testid=stHeader]';
  const seen = new Map();
  const above = (node) => node.parentElement ?? (node.getRootNode() instanceof ShadowRoot && node.getRootNode().host);
  const around = (node, css) => {
    let last = null;
    for (let at = node; at; at = above(at)) if (at.matches(css)) last = at;
    return last;
  };
  const look = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) look(node.shadowRoot);
      if (!node.matches(CONTROL) || !node.checkVisibility({ visibilityProperty: true })) continue;
      const { width, height, top, left, right } = node.getBoundingClientRect();
      if (width < 2 || height < 2 || top >= innerHeight || right <= 0 || left >= innerWidth) continue;
      if (around(node, OUTSIDE)) continue;
      if (node.matches('a') && node.closest('p') && !node.closest('.stPageLink')) continue;  // in a sentence
      const group = node.closest('.opener') ?? around(node, GROUP) ?? node.closest('label') ?? node;
      const one = group.matches('.apply') ? document.querySelector('.st-key-text_place') : group;
      seen.set(one, (node.getAttribute('aria-label') ?? node.textContent).trim().slice(0, 30) || node.type);
    }
  };
  look(document);
  return [...seen.values()];
}"""
"""The names of the controls that are seen, one of each group"""
WITH_OTHER_BARS = ("averages", "step_by_step", "transformer", "compare")
"""The pages with the walk or with panes, whose bars hold more"""
CHAPTERS = [chapter for page in PAGES.values() for chapter in page.chapters if page.name not in WITH_OTHER_BARS]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_a_chapter_begins_with_at_most_seven_controls(page: Page, app_url: str, chapter: Chapter) -> None:
    query = "&".join(f"{key}={value}" for key, value in chapter.query.items())
    page.goto(f"{app_url}{chapter.page.path}?{query}".rstrip("?"))
    settled(page)
    controls = page.evaluate(CONTROLS)
    assert 0 < len(controls) <= MOST, controls
