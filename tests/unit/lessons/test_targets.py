"""What the words of scenes name: read from marks, refused in a sentence, and true in all shipped lessons."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from attnviz.annotated_text import Mark, Target
from attnviz.document import document_of_layer
from attnviz.export.comparison import compared
from attnviz.lessons import OWN, LessonError, Scene, read_lesson, shipped, write_lesson
from attnviz.lessons.targets import html
from attnviz.links.link import read_link
from attnviz.links.pages import PAGES
from attnviz.sources.compared import choices, default_of_b, run
from attnviz.sources.models import DirectResources, averages_of
from tests.pictures import Matrices

CAT = "the cat saw the dog run"
DIRECT = DirectResources()


def lesson_of(sentence: str, page: str = "step_by_step", link: str = "") -> bytes:
    link = link or f"text: {CAT}"
    scene = f"{{title: a, sentence: '{sentence}', page: {page}, query: {{{link}}}}}"
    return f"title: T\nsummary: S\nscenes:\n- {scene}\n".encode()


def read(*given: str) -> Scene:
    (scene,) = read_lesson(lesson_of(*given), OWN).scenes
    return scene


def test_a_sentence_names_cells_by_position_or_token_and_is_written_back_as_it_was() -> None:
    source = "[Row “cat”](row=cat) gives [0.63](row=1 column=Dog matrix=weights)."
    scene = read(source)
    assert scene.sentence == source
    assert scene.said == "Row “cat” gives 0.63."
    assert [mark.target for mark in scene.said.marks] == [Target(row=1), Target(row=1, column=4, matrix="weights")]
    lesson = read_lesson(lesson_of(source), OWN)
    assert read_lesson(write_lesson(lesson).encode(), OWN) == lesson


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("[a](rows=1)",), "“rows=1” is none of row=, column=, matrix=, part=, layer=, head=, item=, step= with a"),
        (("[a](row=mouse)",), "there is no token “mouse” in this scene's text."),
        (("[a](row=the)",), "“the” occurs more than once, so give its position (0, 3)."),
        (("[a](row=6)",), "Position 6 does not exist: this scene has 6 tokens."),
        (("[a](matrix=Q)",), "“Q” is not the name of a matrix."),
        (("[a](layer=1 head=2)",), "A word can't name a layer on this page; it can name row,"),
        (("[a](matrix=a)", "heads"), "A word can't name a matrix on this page; it can name row, column, layer, head,"),
        (("[a](matrix=query)", "compare"), "“query” is not one of the matrices a, b, difference."),
        (("[a](row=1)", "tokens"), "Words can name parts of Step by step, Heads, From averages to"),
        (("[a](item=loss row=1)", "train"), "An item is a part of the page by itself"),
        (("[a](item=Loss)", "train"), "“Loss” is not the name of an item: small letters, digits,"),
        (("[a](step=x)", "train"), "“x” is not a step of a training."),
        (("[a](step=3)", "bert"), "A word can't name a step on this page; it can name row, column, part, layer, head,"),
        (("[a](matrix=query)", "train"), "“query” is not one of the matrices weights, counted, learned, logits."),
        (("[a](row=x)", "heads", "model: bert-base-uncased"), "“x” is not a position, counted from 0."),
        (("x" * 601,), "The sentence has 601 characters; at most 600 are allowed."),
    ],
)  # fmt: skip
def test_what_a_scene_does_not_have_is_refused_in_a_sentence(given: tuple[str, ...], why: str) -> None:
    with pytest.raises(LessonError) as refused:
        read(*given)
    assert str(refused.value).startswith("Scene 1: ")
    assert why in str(refused.value)
    assert len(str(refused.value)) < 450


def test_marks_do_not_count_as_characters_and_other_models_take_positions() -> None:
    assert len(read("[a](row=1)" * 200).said) == 200
    scene = read("[a](row=7 column=300)", "heads", "model: bert-base-uncased")
    assert scene.said.marks == (Mark(0, 1, Target(row=7, column=300)),)


def test_a_file_without_marks_is_read_as_before() -> None:
    sentence = "See [1](http://a.example?b=1), [CLS] and [x] (row=1)."
    assert read(sentence).said == sentence


def test_marked_words_are_buttons_and_all_else_is_escaped() -> None:
    scene = read('<b> [<i>"](row=cat column=dog) & [x](part=hidden)', "step_by_step", f"mask: causal, text: {CAT}")
    assert html(scene.said) == (
        '&lt;b&gt; <span class="marked" role="button" tabindex="0" aria-pressed="false" data-row="1" data-column="4">'
        '&lt;i&gt;&quot;</span> &amp; <span class="marked" role="button" tabindex="0" aria-pressed="false" '
        'data-part="hidden">x</span>'
    )  # fmt: skip


SCENES = [
    pytest.param(scene, id=f"{name}-{number}")
    for name, lesson in shipped().items()
    for number, scene in enumerate(lesson.scenes, 1)
    if (scene.said.marks or scene.asked.marks) and scene.page not in ("train", "bert") and "check" not in scene.values()
]
"""The scenes whose pictures are matrices of a traced text; what others name is held by tests/browser/test_scenes.py"""


def view_of(scene: Scene) -> dict[str, Any]:
    view, _ = read_link(scene.values())
    return {**view, "source": "pretrained"} if scene.page == "heads" else view


def matrices_of(scene: Scene) -> tuple[dict[str, np.ndarray], tuple[str, ...], tuple[str, ...]]:
    """Return a scene's matrices by name, and the tokens of its rows and columns. Heads has one, without a name."""
    view = view_of(scene)
    if scene.page == "compare":
        view |= default_of_b(view.__getitem__, DIRECT)
        a, b = choices(view.__getitem__, DIRECT)
        both = compared((a, b), (run(a, DIRECT), run(b, DIRECT)), view["quantity"])
        return dict(both.matrices()), tuple(both.labels["query"]), tuple(both.labels["key"])
    if scene.page == "averages":
        walk, head = averages_of(view.__getitem__, DIRECT), 0
    else:
        here = PAGES[scene.page].shows(view.__getitem__, DIRECT)
        walk, head = here.walk(DIRECT), here.head
    if scene.page == "heads":
        of_layer = walk.layer.attentions()
        heads = [head for _, head in view["chosen"]] or [view["head"]]
        return {"": of_layer[heads].mean(0).numpy()}, walk.query_labels, walk.key_labels
    document = document_of_layer(walk)
    found = Matrices(document, head)
    names = scene.walk or (view["way" if scene.page == "averages" else PAGES[scene.page].step_key],)
    pictures = [step.picture for step in document.header.steps if step.name in names and step.picture]
    panels = [panel.name for picture in pictures for panel in picture.panels]
    return {name: found.shown(name) for name in panels}, walk.query_labels, walk.key_labels


def number_at(target: Target, matrices: dict[str, np.ndarray]) -> float | None:
    """Return the number that a target names; None if it names several."""
    matrix = matrices.get(target.matrix)
    if target.part in ("largest", "smallest"):
        assert matrix is not None
        of = matrix if target.row is None else matrix[target.row]
        return float(np.nanmax(of) if target.part == "largest" else np.nanmin(of))
    if target.row is not None and target.column is not None:
        assert matrix is not None, "a number is that of one matrix"
        return float(matrix[target.row, target.column])
    return float(matrix[target.row, 0]) if target.matrix == "row_sum" and matrix is not None else None


@pytest.mark.parametrize("scene", SCENES)
def test_the_words_of_shipped_scenes_name_what_they_say(scene: Scene) -> None:
    matrices, rows, columns = matrices_of(scene)
    assert not re.search(r"\]\(\w+=", scene.said + scene.asked), "no mark is left unread"
    for words, target in (*scene.said.pieces(), *scene.asked.pieces()):
        if target is None or target.item:
            continue
        assert not target.matrix or target.matrix in matrices, (words, "is not in the picture")
        decimals = re.findall(r"−?\d+\.\d+", words)
        for decimal in decimals:
            value = number_at(target, matrices)
            assert value is not None
            assert f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00") == decimal, words
        if target.row is not None and target.column is not None:
            continue
        for quoted in re.findall("“([^”]*)”", words):
            named = rows[target.row] if target.row is not None else columns[target.column or 0]
            assert quoted.casefold() == named.casefold(), words
        if target.head is not None and target.layer is not None:
            assert words.casefold() == f"layer {target.layer} · head {target.head}"
        if target.part == "hidden" and "cells" in words:
            assert f"{int(np.isnan(matrices['masked']).sum())} of the {matrices['masked'].size} cells" == words


def test_shipped_lessons_mark_their_numbers() -> None:
    """Every decimal of a sentence that is one cell's, in a scene of matrices, can be pointed at."""
    plain = []
    for name, lesson in shipped().items():
        for number, scene in enumerate(lesson.scenes, 1):
            if scene.page in ("step_by_step", "averages", "compare"):
                text = "".join(piece for piece, target in scene.said.pieces() if target is None)
                plain += [(name, number, decimal) for decimal in re.findall(r"(?<![\w.])−?\d+\.\d+(?!\w)", text)]
    assert plain == [("attention", 7, "0.50")], "the scale"


@pytest.mark.parametrize(
    ("sentence", "page", "link", "row"),
    [
        ("[a](row=[SEP])", "heads", "text: the cat", 3),
        ("[a](row=dog)", "heads", "text: the cat, pair: a dog", 5),
        ("[a](row=playing)", "step_by_step", "text: the playing cat, tokenizer: word", 1),
        ("[a](row=##z)", "step_by_step", "text: attnviz, tokenizer: bert", 5),
        ("[a](row=y)", "step_by_step", "text: xy, tokenizer: char, charset: shakespeare", 1),
        ("[a](row=x)", "averages", "text: y x", 1),
        ("[a](row=cat)", "transformer", "text: the cat", 1),
        ("[a](row=THE)", "step_by_step", "text: the THE", 1),
        ("[a](row=The)", "step_by_step", "text: a the", 1),
    ],
)
def test_a_token_is_looked_up_as_the_page_splits_the_text(sentence: str, page: str, link: str, row: int) -> None:
    assert [mark.target.row for mark in read(sentence, page, link).said.marks] == [row]


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("heads", "model: bert-base-uncased"),
        ("step_by_step", "source: trained"),
        ("transformer", "source: trained"),
        ("step_by_step", "text: ab, tokenizer: char, charset: text"),
        ("compare", "b_text: x"),
        ("compare", "b_model: bert-base-uncased"),
        ("compare", "b_source: toy"),
    ],
)
def test_where_only_the_model_knows_its_tokens_positions_are_taken_as_they_are(page: str, link: str) -> None:
    assert [mark.target.row for mark in read("[a](row=1234)", page, link).said.marks] == [1234]
    with pytest.raises(LessonError, match="“the” is not a position, counted from 0"):
        read("[a](row=the)", page, link)


def test_a_position_is_below_the_number_of_tokens_and_no_more_than_eight_are_listed() -> None:
    assert read("[a](column=5)").said.marks[0].target.column == 5
    with pytest.raises(LessonError, match="Position 6 does not exist: this scene has 6 tokens"):
        read("[a](row=0 column=6)")
    with pytest.raises(LessonError, match=r"give its position \(0, 1, 2, 3, 4, 5, 6, 7\)\."):
        read("[a](row=a)", "step_by_step", f"text: {'a ' * 9}")
