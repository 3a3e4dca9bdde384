"""Waiting until a page shows what it has to show."""

from __future__ import annotations

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as OutOfTimeError

CALM_MS = 250
"""The page must stay finished for this long: a click takes a moment to become a run."""

WAITING_FOR = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  if (!app) return 'the app';
  if (app.dataset.testConnectionState !== 'CONNECTED') return 'the connection';
  if (app.dataset.testScriptState !== 'notRunning') return 'the script';
  if (document.querySelector('[data-testid="stSkeleton"]')) return 'a skeleton to be filled';
  const owes = (hosts, part) => [...document.querySelectorAll(hosts)].some((host) => {
    const inside = host.querySelector('[data-testid=stBidiComponentIsolated]')?.shadowRoot ?? host;
    return host.checkVisibility() && !inside.querySelector(part);
  });
  if (owes('.st-key-explorer, .st-key-compare_picture', '[data-painted]')) return 'the picture of the heads';
  if (owes('.st-key-stepper', '[role=radio]')) return 'the stepper';
  if (owes('.st-key-keys', 'dialog')) return 'the keys';
  for (const chart of document.querySelectorAll('[data-testid="stPlotlyChart"], .st-key-picture')) {
    if (!chart.checkVisibility()) continue;
    const board = chart.querySelector('.attnviz-board');
    if (board) {
      if (!board.dataset.painted || board.attnviz.moment < 1) return 'the board';
      continue;
    }
    const plot = chart.querySelector('.js-plotly-plot');
    if (!plot || !plot._fullLayout || !plot.querySelector('.main-svg')) return 'a chart';
    const heatmaps = plot._fullData.filter((trace) => trace.type === 'heatmap' && trace.visible === true);
    if (plot.querySelectorAll('.heatmaplayer image').length < heatmaps.length) return 'a heatmap';
  }
  return null;
}"""
"""What the page still owes, or null."""

CALM = f"""(calm) => {{
  const owed = ({WAITING_FOR})();
  if (owed) window.finishedSince = undefined;
  else window.finishedSince ??= performance.now();
  return !owed && performance.now() - window.finishedSince >= calm;
}}"""


def settled(page: Page, *, timeout_s: float = 60) -> Page:
    """Wait until the app is idle and its charts are drawn, and stay so; return the page."""
    page.evaluate("() => { window.finishedSince = undefined }")
    try:
        page.wait_for_function(CALM, arg=CALM_MS, timeout=timeout_s * 1000)
    except OutOfTimeError:
        owed = page.evaluate(WAITING_FOR) or "nothing, but it does not come to rest"
        raise AssertionError(f"after {timeout_s} s {page.url} still waits for {owed}") from None
    return page
