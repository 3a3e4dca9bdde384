"""`python -m tests.screenshots`: the pictures of README and docs; with `--all DIR`, every step on every screen."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

from attnviz.lessons import shipped
from attnviz.steps import STEPS
from tests.browser import chromium
from tests.browser.server import ROOT, running
from tests.browser.settle import settled, settled_at


@dataclass(frozen=True)
class Shot:
    """One picture: a link, and the screen that it is opened on."""

    name: str
    link: str
    width: int = 1280
    height: int = 720
    scheme: Literal["light", "dark"] = "light"
    trains: bool = False
    """Press Train first, and wait until the training is done"""
    ready: str = ""
    """Wait until this can be seen: the text that a page generates, for example"""
    whole: bool = False
    """Take the page to its end, not only what fits on the screen"""


def step_link(source: str, step: str, **more: str | int) -> str:
    """Return the link of one step."""
    return "/?" + urlencode({"source": source, "step": step, **more})


CAT = "The cat sat on the mat."
DOCS = [
    Shot("step-by-step", "/"),
    Shot("train", "/train?rate=0.003&steps=400&watch=decoder.1.1", trains=True),
    Shot("generate", "/train?train_part=generate&drawn=40", ready='.generation[data-state="ready"]'),
    Shot("bert", "/bert?bert_part=search", ready="text=cosine of the sentence embeddings"),
    Shot("lecture", shipped()["heads"].scenes[1].link + "&lesson=heads&scene=2&lecture=1"),
    Shot("heads", "/heads?" + urlencode({"layer": 3, "head": 8, "chosen": "3.8_2.2", "q": 3, "text": CAT})),
    Shot(
        "corpus",
        "/heads?over=corpus&layer=1&head=8&corpus_view=distribution&corpus_measure=next",
        ready=".st-key-corpus_right .js-plotly-plot",
    ),
]

SCREENS = {
    "1920": Shot("", "", 1920, 1080),
    "1280": Shot("", "", 1280, 720),
    "390": Shot("", "", 390, 844),
    "dark": Shot("", "", 1280, 720, "dark"),
}


def every_view() -> Iterator[Shot]:
    """Yield every step of both sources and the other pages, on every screen; a phone's to the page's end."""
    views = {f"{source}-{step}": step_link(source, step) for source, step in product(("toy", "pretrained"), STEPS)}
    views |= {name: f"/{name}" for name in ("averages", "train", "bert", "tokens", "heads", "compare", "lessons")}
    views |= {f"{name}-lecture": f"/{name}?lecture=1" for name in ("", "averages", "tokens", "heads", "compare")}
    views |= {
        "heads-lines": "/heads?layer=3&head=8&chosen=3.8_2.2_4.1&q=3",
        "compare-layers": "/compare?head=3&b_layer=4",
    }
    views |= {
        "predict": step_link("toy", "weights", predict=1, q=3),
        "chart": step_link("toy", "scores", drawing="chart"),
    }
    for (view, link), (screen, like) in product(views.items(), SCREENS.items()):
        whole = like.width < 500
        yield Shot(f"{view}-{screen}", link, like.width, like.height, like.scheme, whole=whole)


def take(browser: Browser, url: str, shot: Shot, folder: Path) -> None:
    """Open a link in a fresh context and save what it shows."""
    size = {"width": shot.width, "height": shot.height}
    context = browser.new_context(viewport=size, color_scheme=shot.scheme, reduced_motion="reduce")
    page = context.new_page()
    settled_at(page, url + shot.link)
    if shot.ready:
        page.locator(shot.ready).wait_for(timeout=60_000)
        settled(page)
    if shot.trains:
        page.keyboard.press("Enter")
        page.locator(".training[data-state=done]").wait_for(timeout=180_000)
        page.wait_for_timeout(2000)  # until all snapshots and the accuracies have come
        settled(page)
    if shot.whole:  # the page scrolls inside the app, so the screen is made as high as what it holds
        height = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": shot.width, "height": max(shot.height, min(height, 8000))})
        settled(page)
    page.screenshot(path=folder / f"{shot.name}.png")
    context.close()


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="DIR", help="save every view on every screen to this folder")
    parser.add_argument("--only", default="", metavar="PART", help="those whose name contains this")
    asked = parser.parse_args()
    folder: Path = asked.all or ROOT / "assets" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    shots = [shot for shot in (every_view() if asked.all else DOCS) if asked.only in shot.name]
    path = chromium.find()
    if not path:
        raise SystemExit("no Chromium found: install one, or name it in ATTNVIZ_CHROMIUM")
    with running() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=chromium.ARGUMENTS)
        for shot in shots:
            take(browser, url, shot, folder)
        browser.close()


if __name__ == "__main__":
    main()
