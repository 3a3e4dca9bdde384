"""Lessons as files: what is written reads back the same, and whatever else comes is refused in a plain sentence."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from attnviz.lessons import (
    MAX_BYTES,
    OWN,
    PATHS,
    Example,
    Lesson,
    LessonError,
    Scene,
    gallery,
    gallery_lesson,
    read_lesson,
    shipped,
    text_examples,
    write_lesson,
)
from attnviz.lessons.lesson import check_scene, covers, query_of
from attnviz.links.link import read_link
from attnviz.measures.mistakes import NAMES

HEAD = "title: T\nsummary: S\nscenes:\n"
GOOD = "  - {title: a, sentence: b, link: '/heads?layer=3&head=1'}\n"

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(str.strip)
values = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "layer": st.integers(0, 99).map(str),
        "scale": st.sampled_from(["off", "sqrt_c", "0.125"]),
        "mask": st.sampled_from(["none", "causal"]),
        "pair": st.sampled_from(["yes", "null", "1e5", "~", "2001-01-01", "<<", "*a", "- x", "a: b"]),
    },
)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    query = draw(values)
    scene = Scene(draw(texts), draw(texts), draw(st.sampled_from(list(PATHS))), query_of(query))
    if draw(st.booleans()):
        asked = query_of({**query, "predict": "1", "q": "3"})
        scene = replace(scene, page="step_by_step", query=asked, question=draw(texts))
        scene = replace(
            scene, steps=tuple(draw(st.lists(st.sampled_from(["weights", "tokens", "output"]), unique=True)))
        )
    return scene


@given(texts, texts, st.lists(scenes(), min_size=1, max_size=3))
@example("a\x85", "b\u2028c", [Scene("d\r", "e\u2029 f", "heads", "")])
def test_what_is_written_reads_back_the_same(title: str, summary: str, written: list[Scene]) -> None:
    lesson = Lesson("x", title, summary, tuple(written))
    assert read_lesson(write_lesson(lesson).encode(), "x") == lesson


@pytest.mark.parametrize("line", ["", "summary:\n", "summary: ''\n", "summary: '  '\n"])
def test_a_file_without_a_summary_is_taken_and_written_without_one(line: str) -> None:
    lesson = read_lesson(f"title: T\n{line}scenes:\n{GOOD}".encode(), OWN)
    assert (lesson.title, lesson.summary) == ("T", "")
    assert "summary" not in write_lesson(lesson)
    assert read_lesson(write_lesson(lesson).encode(), OWN) == lesson


def test_steps_follow_that_of_the_link() -> None:
    walk = "  - {title: a, sentence: b, link: '/?q=1', steps: [weights, head_outputs]}\n"
    (scene,) = read_lesson((HEAD + walk).encode(), OWN).scenes
    assert scene.walk == ("scores", "weights", "head_outputs")  # "scores" is what a link without a step opens
    assert [scene.step_beside(step, 1) for step in scene.walk] == ["weights", "head_outputs", None]
    assert [scene.step_beside(step, -1) for step in scene.walk] == [None, "scores", "weights"]
    assert scene.step_beside("output", 1) is scene.step_beside("output", -1) is None  # where no scene leads
    assert replace(scene, steps=()).step_beside("scores", 1) is None


def test_a_scene_of_a_whole_model_may_have_a_question_and_steps() -> None:
    link = "/transformer?part=weights&predict=1&q=1"
    given = f"  - {{title: a, sentence: b, question: c, steps: [attention_residual, logits], link: '{link}'}}\n"
    row, mistake = read_lesson((HEAD + given + MISTAKE).encode(), OWN).scenes
    assert row.walk == ("weights", "attention_residual", "logits")
    assert row.step_beside("attention_residual", 1) == "logits"
    assert row.step_beside("logits", 1) is None
    assert (row.question, mistake.question) == ("c", "c")
    assert replace(mistake, steps=("tokens",)).walk == ("embeddings", "tokens")
    assert read_lesson(write_lesson(Lesson(OWN, "T", "S", (row, mistake))).encode(), OWN).scenes == (row, mistake)


def test_a_link_may_be_copied_from_any_address_bar() -> None:
    copied = "https://demo.example/attn/heads?layer=3&head=1&lesson=why&scene=4&lecture=1&text=a+%26+b"
    (scene,) = read_lesson(f"{HEAD}  - {{title: a, sentence: b, link: '{copied}'}}\n".encode(), OWN).scenes
    assert (scene.page, scene.values()) == ("heads", {"layer": "3", "head": "1", "text": "a & b"})
    assert scene.link == "/heads?layer=3&head=1&text=a+%26+b"
    root = GOOD.replace("/heads?layer=3&head=1", "http://localhost:8501/?step=weights")
    assert read_lesson((HEAD + root).encode(), OWN).scenes[0].page == "step_by_step"


def test_words_that_yaml_would_take_for_something_else_stay_words() -> None:
    scene = "  - {title: yes, sentence: 2020, page: compare, query: {b_scale: off, text: no}}\n"
    (read,) = read_lesson((HEAD + scene).encode(), OWN).scenes
    assert (read.title, read.sentence) == ("yes", "2020")
    assert read.values() == {"b_scale": "off", "text": "no"}


MISTAKE = "  - {title: a, sentence: b, question: c, link: '/transformer?check=mistake&answer=0'}\n"
BOMB = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "The file is not a mapping"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"x" * (MAX_BYTES + 1), "100,001 bytes; at most 100,000 are allowed"),
        (b"title: [", "not YAML, near line"),
        (b"title: T\nsummary: a: b\n", "The file is not YAML, near line 2."),
        (b"title: [[[[[a]]]]]", "nested deeper"),
        (b"a: \x00", "not YAML"),
        (BOMB.encode(), "aliases"),
        (b"[" * 50_000, "nested deeper"),
        (b"- " * 40_000, "nested deeper"),
        (b'title: "\\ud800"', "no"),
        (b"!!python/object/apply:os.system ['true']", "The file is not a mapping"),
        (b"[1, 2]", "The file is not a mapping"),
        (b"? [a, b]\n: c", "The file is no"),
        (b"title: T\nsummary: S", "no list of scenes"),
        (b"title: T\nsummary: S\nscenes: {}", "no list of scenes"),
        (b"title: T\nsummary: S\nscenes: []\nstyle: x", "“style” is not one of title, summary, scenes"),
        ((HEAD + "  - 3\n").encode(), "Scene 1: A scene is not a mapping"),
        ((HEAD + GOOD + "  - {title: a, sentence: b, link: '/admin'}\n").encode(), "Scene 2: “/admin” does not lead"),
        ((HEAD + "  - {title: a, sentence: b, link: '//evil.example/heads'}\n").encode(), "Scene 1: “//evil.example"),
        ((HEAD + "  - {title: a, sentence: b, link: 'javascript:alert(1)'}\n").encode(), "does not lead to one"),
        ((HEAD + "  - {title: a, sentence: b, link: 'javascript:/heads'}\n").encode(), "does not lead to one"),
        ((HEAD + "  - {title: a, sentence: b, link: 'http://[x/heads'}\n").encode(), "can't be read"),
        ((HEAD + "  - {title: a, sentence: b, page: lessons}\n").encode(), "“lessons” is not one of the pages"),
        ((HEAD + "  - {title: a, sentence: b, page: ../heads}\n").encode(), "not one of the pages"),
        ((HEAD + f"  - {{title: a, sentence: b, page: {'p' * 900}}}\n").encode(), f"“{'p' * 40}” is not one of"),
        ((HEAD + GOOD.replace("layer", "k" * 900)).encode(), f"unknown key “{'k' * 40}”"),
        ((HEAD + GOOD.replace("layer=3", "layer=x")).encode(), "Scene 1: The link's layer=x is not a whole number"),
        ((HEAD + GOOD.replace("layer=3", "head=2")).encode(), "same key twice"),
        ((HEAD + GOOD.replace("layer", "lair")).encode(), "unknown key “lair”"),
        ((HEAD + GOOD.replace("sentence: b", "sentence: ''")).encode(), "The sentence is missing or empty"),
        ((HEAD + GOOD.replace("title: a", "title: [a]")).encode(), "The title is not text"),
        ((HEAD + GOOD.replace("title: a", f"title: {'a' * 121}")).encode(), "121 characters; at most 120 are allowed"),
        ((HEAD + GOOD.replace("title: a", "page: heads, title: a")).encode(), "give one of them"),
        ((HEAD + GOOD.replace("title: a", "question: c, title: a")).encode(), "A question needs"),
        ((HEAD + "  - {title: a, sentence: b, question: c, link: '/?predict=1'}\n").encode(), "A question needs"),
        ((HEAD + "  - {title: a, sentence: b, page: heads, query: {layer: [1]}}\n").encode(), "query is not a mapping"),
        ((HEAD + GOOD.replace("title: a", "steps: [scores], title: a")).encode(), "Only a scene of step_by_step or"),
        ((HEAD + MISTAKE.replace("answer=0", "answer=1")).encode(), "A question needs"),
        ((HEAD + MISTAKE.replace("check=mistake", "check=norm&predict=1&q=0")).encode(), "A question needs"),
        ((HEAD + MISTAKE.replace("sentence", "steps: [logit], sentence")).encode(), "“logit” is not the name of"),
        ((HEAD + MISTAKE.replace("sentence", "steps: [embeddings], sentence")).encode(), "The steps name one twice"),
        ((HEAD + "  - {title: a, sentence: b, link: '/', steps: [tokens]}\n").encode(), "The steps name one twice"),
        ((HEAD + "  - {title: a, sentence: b, link: '/', steps: [s, s]}\n").encode(), "“s” is not one of the steps"),
        ((HEAD + "  - {title: a, sentence: b, link: '/', steps: weights}\n").encode(), "not a list of names"),
        ((HEAD + "  - {title: a, sentence: b, link: '/', steps: [[a]]}\n").encode(), "not a list of names"),
        ((HEAD + GOOD * 101).encode(), "101 scenes; at most 100 are allowed"),
    ],
)  # fmt: skip
def test_what_is_not_a_lesson_is_refused_in_a_sentence(data: bytes, reason: str) -> None:
    started = time.process_time()
    with pytest.raises(LessonError, match=re.escape(reason)) as refused:
        read_lesson(data, OWN)
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("loader", [yaml.BaseLoader, yaml.CBaseLoader])
def test_half_a_character_is_refused_with_and_without_yamls_c_library(
    loader: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.lessons.lesson._LOADER", loader)
    with pytest.raises(LessonError, match="The file is not"):
        read_lesson((HEAD.replace("T", '"\\ud800"') + GOOD).encode(), OWN)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: (HEAD + text).encode(errors="ignore")))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    try:
        lesson = read_lesson(data, OWN)
    except LessonError:
        return
    assert lesson.scenes


def test_a_lesson_too_large_to_be_read_again_is_not_written() -> None:
    scene = Scene("a", "b", "step_by_step", query_of({"text": "é" * 19_000}))
    assert write_lesson(Lesson("x", "T", "S", (scene,) * 2))
    with pytest.raises(LessonError, match="would be a file of"):
        write_lesson(Lesson("x", "T", "S", (scene,) * 3))


def test_eleven_lessons_are_shipped_each_with_a_question() -> None:
    lessons = shipped()
    assert [lesson.title for lesson in lessons.values()] == [
        "What attention computes", "What BERT's heads look at", "Why scale, why mask, why many heads",
        "From a head to a transformer", "Spot the mistake", "Attention forms",
        "From a table of pairs to a GPT", "Attention is not explanation, or is it?", "BERT at work",
        "What changed since 2017", "What such models are said to be",
    ]  # fmt: skip
    of_ten = ("attention", "transformer", "forming", "explanation", "bert")
    assert [len(lessons[name].scenes) for name in of_ten] == [10] * 5
    assert len(lessons["today"].scenes) == 13
    mistakes = [read_link(scene.values())[0] for scene in lessons["mistakes"].scenes]
    assert [(one["check"], one["mistake"], one["answer"]) for one in mistakes] == [("mistake", n, False) for n in NAMES]
    assert all(scene.question for scene in lessons["mistakes"].scenes)
    assert all(any(scene.question for scene in lesson.scenes) for lesson in lessons.values())
    assert len({example.title for example in gallery()}) == len(gallery()) >= 10


def test_a_lesson_may_have_as_many_scenes_as_are_allowed_and_no_more() -> None:
    scenes = (Scene("a", "b", "heads", ""),) * 101
    assert len(read_lesson(write_lesson(Lesson("x", "a", "b", scenes[:100])).encode(), "x").scenes) == 100
    with pytest.raises(LessonError, match=r"has 101 scenes; at most 100 are allowed\."):
        read_lesson(write_lesson(Lesson("x", "a", "b", scenes)).encode(), "x")


@pytest.mark.parametrize(("text", "most"), [("title", 120), ("sentence", 600), ("question", 300)])
def test_a_text_may_have_as_many_characters_as_are_allowed_and_no_more(text: str, most: int) -> None:
    scene = Scene("a", "b", "step_by_step", "predict=1&q=0", "c")
    check_scene(replace(scene, **{text: "x" * most}))
    with pytest.raises(LessonError, match=f"The {text} has {most + 1} characters; at most {most} are allowed"):
        check_scene(replace(scene, **{text: "x" * (most + 1)}))


def test_an_empty_text_in_a_link_is_kept() -> None:
    (scene,) = read_lesson((HEAD + GOOD.replace("layer=3", "text=")).encode(), OWN).scenes
    assert scene.values() == {"text": "", "head": "1"}
    assert read_link(scene.values())[0]["text"] == ""


def test_an_examples_link_holds_its_cell_and_no_defaults() -> None:
    example_ = Example("t", "x", 0, 1, "weight", "0.50", "s", q=0, k=2)
    assert example_.link("heads") == {"text": "x", "head": "1", "q": "0", "k": "2"}
    assert example_.link("step_by_step") == {**example_.link("heads"), "source": "pretrained", "step": "tokens"}
    assert replace(example_, q=None, k=None).link("heads") == {"text": "x", "head": "1"}


def test_a_file_may_have_as_many_bytes_and_levels_as_are_allowed_and_no_more() -> None:
    whole = (HEAD + GOOD).encode()
    comment = b"# " + b"x" * (MAX_BYTES - len(whole) - 3) + b"\n"
    assert len(comment + whole) == MAX_BYTES
    assert read_lesson(comment + whole, OWN).title == "T"
    with pytest.raises(LessonError, match="The file has 100,001 bytes"):
        read_lesson(b" " + comment + whole, OWN)
    for levels, why in ((5, "The title is not text"), (6, "nested deeper")):
        with pytest.raises(LessonError, match=why):
            read_lesson(b"title: " + b"[" * (levels - 1) + b"]" * (levels - 1), OWN)
    scene = Scene("a", "b", "step_by_step", query_of({"text": "a" * 70_000}))
    size = len(write_lesson(Lesson("x", "T", "", (scene,))).encode())
    scene = replace(scene, query=query_of({"text": "a" * (70_000 + MAX_BYTES - size)}))
    assert len(write_lesson(Lesson("x", "T", "", (scene,))).encode()) == MAX_BYTES
    with pytest.raises(LessonError, match="would be a file of 100,001 bytes; at most 100,000 are allowed"):
        write_lesson(Lesson("x", "T2", "", (scene,)))


def test_a_summary_may_have_600_characters_and_a_text_with_marks_four_times_as_many() -> None:
    lesson = f"title: T\nsummary: {'s' * 600}\nscenes:\n{GOOD}"
    assert len(read_lesson(lesson.encode(), OWN).summary) == 600
    with pytest.raises(LessonError, match="The summary has 601 characters; at most 600 are allowed"):
        read_lesson(lesson.replace("ss", "sss", 1).encode(), OWN)
    mark = "[a](row=0)"
    for kind, most in (("sentence", 2400), ("question", 1200)):
        scene = Scene("a", "b", "step_by_step", "predict=1&q=0", "c")
        check_scene(replace(scene, **{kind: mark * (most // len(mark))}))
        with pytest.raises(
            LessonError, match=f"has {most + 1:,} characters with its marks; at most {most:,} are allowed"
        ):
            check_scene(replace(scene, **{kind: mark * (most // len(mark)) + "."}))


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("/heads", "heads"),
        (" /heads?head=1 ", "heads"),
        ("/", "step_by_step"),
        ("https://a.example/heads/", "heads"),
        ("http://a.example", "step_by_step"),
        ("https://a.example/base/heads", "heads"),
        ("/base/heads", None),
        ("heads", None),
        ("//a.example/heads", None),
        ("ftp://a.example/heads", None),
        ("javascript:/heads", None),
        ("/lessons", None),
        ("https://a.example/Heads", None),
        ("https://[a/heads", None),
        ("/heads?" + "&".join(f"a{n}=1" for n in range(1001)), None),
    ],
)
def test_a_link_leads_to_a_page_of_this_app_or_nowhere(link: str, page: str | None) -> None:
    data = (HEAD + f"  - {{title: a, sentence: b, link: '{link}'}}\n").encode()
    if page is not None:
        assert read_lesson(data, OWN).scenes[0].page == page
        return
    with pytest.raises(
        LessonError,
        match=r"^Scene 1: .*(does not lead to one of the pages /tokens, /averages, /, /heads|can't be read)",
    ):
        read_lesson(data, OWN)


def test_the_number_of_the_scene_that_is_wrong_is_said() -> None:
    with pytest.raises(LessonError, match=r"^Scene 3: The title is missing or empty"):
        read_lesson((HEAD + 2 * GOOD + GOOD.replace("title: a", "title: ' '") + GOOD).encode(), OWN)


@pytest.mark.parametrize(
    ("page", "values_", "is_covered"),
    [
        ("step_by_step", {"predict": "1", "q": "0"}, True),
        ("transformer", {"predict": "1", "q": "0"}, True),
        ("train", {"predict": "1", "q": "0"}, True),
        ("heads", {"predict": "1", "q": "0"}, False),
        ("step_by_step", {"predict": "0", "q": "0"}, False),
        ("step_by_step", {"predict": "1"}, False),
        ("step_by_step", {"q": "1"}, False),
        ("transformer", {"check": "mistake", "answer": "0"}, True),
        ("transformer", {"check": "mistake", "answer": "1"}, False),
        ("transformer", {"check": "mistake"}, False),
        ("transformer", {"check": "norm", "answer": "0"}, False),
        ("step_by_step", {"check": "mistake", "answer": "0"}, False),
        ("transformer", {"check": "mistake", "predict": "1", "q": "0"}, False),
        ("transformer", {"recompute": "1", "predict": "1", "q": "0"}, False),
    ],
)
def test_a_question_asks_for_what_the_link_covers(page: str, values_: dict[str, str], is_covered: bool) -> None:
    assert covers(page, values_) == is_covered


def test_a_step_that_is_not_of_the_page_is_refused_with_those_that_are_where_they_are_few() -> None:
    with pytest.raises(LessonError) as refused:
        check_scene(Scene("a", "b", "step_by_step", steps=("logits",)))
    assert str(refused.value) == (
        "“logits” is not one of the steps tokens, embeddings, qkv, normed, rotated, scores, scaled, capped, biased, "
        "masked, weights, head_outputs, concat, output."
    )
    with pytest.raises(LessonError, match=r"^“weight” is not the name of a step\.$"):
        check_scene(Scene("a", "b", "transformer", steps=("logits", "weight")))
    check_scene(Scene("a", "b", "step_by_step", steps=("scores", "output")))


def test_step_beside_goes_as_far_as_the_walk() -> None:
    scene = Scene("a", "b", "step_by_step", "step=qkv", steps=("scores", "weights", "output"))
    found = {by: [scene.step_beside(step, by) for step in ("qkv", "weights")] for by in (-2, -1, 0, 1, 2, 3)}
    assert found == {
        -2: [None, "qkv"], -1: [None, "scores"], 0: ["qkv", "weights"], 1: ["scores", "output"],
        2: ["weights", None], 3: ["output", None],
    }  # fmt: skip


def test_the_gallery_is_a_lesson_of_heads_with_a_sentence_each() -> None:
    lesson = gallery_lesson()
    assert (lesson.name, len(lesson.scenes)) == ("gallery", len(gallery()))
    for scene, one in zip(lesson.scenes, gallery(), strict=True):
        check_scene(scene)
        assert (scene.page, scene.title, scene.values()) == ("heads", one.title, one.link("heads"))
        assert scene.said == one.explained
        assert scene.said.startswith(f"Layer {one.layer} · head {one.head}. ")
        assert scene.said.endswith(one.said)
        first = scene.said.marks[0]
        assert (first.target.layer, first.target.head) == (one.layer, one.head)
        assert one.figure in one.says
        assert (one.q is None) == (one.k is None) == (one.measure != "weight")
        assert one.link("compare")["source"] == "pretrained"
        assert one.link("step_by_step") == {**one.link("compare"), "step": "tokens"}
    assert {one.page for one in text_examples()} <= set(PATHS)
