"""Runs axe-core, which finds what keeps people from using a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.evaluate import evaluate

SCRIPT = Axe().axe_script

RUN = """async ({ context, options }) => {
  const { violations } = await axe.run(context ?? document, { resultTypes: ["violations"], ...options });
  const where = ({ target, html }) => ({ target, html });
  return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(where) }));
}"""
"""axe describes only what is wrong: to describe all that is right takes as long as to find it."""


def violations(page: Page, context: object = None, **options: object) -> list[dict[str, Any]]:
    """Return what axe finds on the page as it is: the rule's `id`, its `impact`, and `nodes` with `target` and `html`.

    Args:
        page: the page. The script is sent to it once.
        context: what to look at; None means all.
        options: as of axe.run.
    """
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(SCRIPT)
    found: list[dict[str, Any]] = evaluate(page, RUN, {"context": context, "options": options})
    return found


def serious(page: Page, context: object = None) -> list[str]:
    """Return what is serious of it, a line for each place."""
    found = [one for one in violations(page, context) if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]
