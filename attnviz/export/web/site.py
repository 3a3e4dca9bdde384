"""A lesson as a static site: a page for each scene and an index. Any file host serves it; it also opens from a disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from attnviz.components.built import page_script
from attnviz.components.styles import styles
from attnviz.export.drawing.marks import THEMES
from attnviz.export.views import View
from attnviz.export.web import mistake
from attnviz.export.web.pages import Kind, NoPageError, font_faces, make_page, write_part
from attnviz.export.web.pictures import draw_view
from attnviz.lessons import Lesson, Scene
from attnviz.lessons.targets import html
from attnviz.links.pages import PAGES
from attnviz.measures.mistakes import TEXTS
from attnviz.sources import Resources

ASSETS = "assets"
PICTURE_ONLY = "A picture of the page “{}”, which moves only in the app."


@dataclass(frozen=True, slots=True)
class _Shown:
    """A scene as HTML, with the files that belong to it."""

    kind: Kind
    body: str
    said: str
    """All text that it may show, apart from its script's"""
    files: dict[str, bytes]


def build_site(lesson: Lesson, resources: Resources) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a site, each with its path: the scenes in order, shared files, and the index last.

    Raises:
        attnviz.pretrained.ModelError: a scene's model can't be loaded.
        attnviz.tokens.NoTokensError: a scene's text has no token.
        FontError: see `drawing.fonts.ttf`.
    """
    kinds: dict[Kind, None] = {}
    texts = [lesson.title, lesson.summary]
    for number, scene in enumerate(lesson.scenes, 1):
        shown = _show(scene, number, resources)
        kinds[shown.kind] = None
        texts += [scene.title, scene.said, scene.asked, shown.said]
        yield (
            file_of(number),
            write_part(f"{scene.title} · {lesson.title}", _heading(lesson, number) + shown.body, shown.kind, ASSETS),
        )
        yield from shown.files.items()
    for kind in dict.fromkeys((*kinds, "picture")):
        code = page_script(kind)
        texts.append(code)
        yield f"{ASSETS}/{kind}.js", code.encode()
        yield f"{ASSETS}/{kind}.css", styles(f"embed/{kind}.css").encode()
    yield f"{ASSETS}/fonts.css", font_faces(texts).encode()
    yield "index.html", write_part(lesson.title, _index(lesson), "picture", ASSETS)


def file_of(number: int) -> str:
    """Return the name of a scene's page; scenes are counted from 1."""
    return f"scene-{number:02d}.html"


def _show(scene: Scene, number: int, resources: Resources) -> _Shown:
    view = {**PAGES[scene.page].read(scene.values())[0], "lecture": False}
    if scene.page == "transformer" and view["check"] == "mistake":
        return _mistake(view, number, resources)
    try:
        page = make_page(scene.page, view, resources)
    except NoPageError:
        return _draw(scene, view, number, resources)
    about = f'<p class="attnviz-about">{escape(page.about)}</p>\n'
    return _Shown(page.kind, about + page.body, page.said, {})


def _draw(scene: Scene, view: View, number: int, resources: Resources) -> _Shown:
    """Return a scene as a picture, light and dark."""
    files, alt = draw_view(scene.page, view, resources)
    paths = {theme: f"{ASSETS}/scene-{number:02d}-{theme}.svg" for theme in files}
    note = PICTURE_ONLY.format(PAGES[scene.page].title)
    light = f'<img class="attnviz-picture" src="{paths["light"]}" alt="{escape(alt)}">'
    body = f'{_themed(paths, light)}\n<p class="attnviz-note">{escape(note)}</p>'
    return _Shown("picture", body, alt + note, {paths[theme]: file for theme, file in files.items()})


def _mistake(view: View, number: int, resources: Resources) -> _Shown:
    """Return a scene of a mistake beside the right way, with light and dark pictures."""
    trace = PAGES["transformer"].shows(view.__getitem__, resources).trace(resources)
    text, effect = TEXTS[view["mistake"]], mistake.found_in(view, trace)
    files: dict[str, bytes] = {}

    def picture(side: str) -> str:
        alt, paths = "", {theme: f"{ASSETS}/scene-{number:02d}-{side}-{theme}.svg" for theme in THEMES}
        for name, theme in THEMES.items():
            files[paths[name]], alt = mistake.draw(effect, side, theme, mistake.BESIDE)
        return _themed(paths, f'<img src="{paths["light"]}" alt="{escape(alt)}">')

    body = mistake.body(text, effect, picture, answer=view["answer"], brief=True)
    return _Shown("mistake", body, mistake.words(text, effect), files)


def _themed(paths: Mapping[str, str], light: str) -> str:
    """Return the HTML of a picture that follows the theme; `light` is the HTML of the light picture."""
    return f'<picture><source srcset="{paths["dark"]}" media="(prefers-color-scheme: dark)">{light}</picture>'


def _heading(lesson: Lesson, number: int) -> str:
    """Return the HTML above a scene: links to other scenes, its title, its question and its sentence."""
    scene, count = lesson.scenes[number - 1], len(lesson.scenes)
    links = [f'<a href="index.html" title="All scenes">{number} of {count}</a>']
    if number > 1:
        links.insert(0, f'<a rel="prev" href="{file_of(number - 1)}" title="Previous scene (←)">‹ Previous</a>')
    if number < count:
        links.append(f'<a rel="next" href="{file_of(number + 1)}" title="Next scene (→)">Next ›</a>')
    question = (
        f'<div class="attnviz-question"><p>{html(scene.asked)}</p><button type="button">Reveal</button></div>\n'
        if scene.question
        else ""
    )
    hidden = " hidden" if scene.question else ""
    steps = f' data-steps="{escape(" ".join(scene.walk))}"' if scene.walk else ""
    return (
        f'<div class="attnviz-top"><h1>{escape(scene.title)}</h1>\n'
        f'<nav class="attnviz-scene" aria-label="{escape(lesson.title)}"{steps}>{" ".join(links)}</nav></div>\n'
        f'{question}<p class="attnviz-sentence"{hidden}>{html(scene.said)}</p>\n'
    )


def _index(lesson: Lesson) -> str:
    summary = f"<p>{escape(lesson.summary)}</p>\n" if lesson.summary else ""
    scenes = "\n".join(
        f'<li><a href="{file_of(number)}">{escape(scene.title)}</a></li>'
        for number, scene in enumerate(lesson.scenes, 1)
    )
    return (
        f'<main class="attnviz-index"><h1>{escape(lesson.title)}</h1>\n{summary}'
        f'<ol class="attnviz-scenes">\n{scenes}\n</ol>\n'
        '<p class="attnviz-note">→ and ←, or Page Down and Page Up, go through the scenes. L is lecture mode: larger '
        "type; in it, B is a black screen, Shift T a timer, Shift F the full screen.</p></main>"
    )
