"""A user's files of words and tags: read or refused; as numbers, with the baseline, the batches, and what is right."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attnviz.training.evaluation import Evaluator, evaluate_whole, heads_of
from attnviz.training.jobs.run import read_data
from attnviz.training.plan import Limits, Plan, build, subject_of, task_of
from attnviz.training.settings import TAGGED
from attnviz.training.tagged import files
from attnviz.training.tagged.files import (
    FILL,
    LONGEST,
    MOST_BYTES,
    MOST_SENTENCES,
    MOST_WORDS,
    UNKNOWN,
    TaggedError,
    made_of,
    read_tagged,
    tagged_files,
)
from attnviz.training.tagged.task import TaggedSentences, TaggedWords
from attnviz.training.tasks.task import IGNORED, known
from tests.memory import held
from tests.training import train_step

TRAIN = [
    [("her", "PRON"), ("plans", "NOUN"), ("work", "VERB")],
    [("she", "PRON"), ("plans", "VERB")],
    [("the", "DET"), ("plans", "NOUN"), ("fail", "VERB"), ("her", "PRON")],
    [("she", "PRON"), ("work", "VERB"), ("her", "DET"), ("work", "NOUN"), ("plans", "NOUN"), ("her", "PRON")],
]
TEST = [
    [("she", "PRON"), ("plans", "VERB")],
    [("zebras", "NOUN"), ("work", "VERB"), ("the", "DET"), ("plans", "NOUN")],
    [("She", "PRON"), ("fail", "VERB")],
    [("she", "PRON"), ("plans", "VERB")],
]


def written(sentences: list[list[tuple[str, str]]]) -> bytes:
    return "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in one) for one in sentences).encode()


FILES = tagged_files(written(TRAIN), written(TEST), ("train.txt", "test.txt"))
TASK = TaggedSentences(FILES)


def test_the_vocabulary_is_that_of_the_training_file() -> None:
    assert FILES.words == ("fail", "her", "plans", "she", "the", "work")
    assert FILES.tags == ("DET", "NOUN", "PRON", "VERB")
    assert FILES.labels[:2] == ("<no word>", "<unknown word>")
    assert (len(FILES.train.lengths), len(FILES.train.words), FILES.longest) == (4, 15, 6)
    ids = FILES.test.words.tolist()
    assert [FILES.labels[one] for one in ids] == [
        word if word in FILES.words else "<unknown word>" for word, _ in chain(*TEST)
    ]
    assert [FILES.tags[one] for one in FILES.test.tags] == [tag for _, tag in chain(*TEST)]
    assert FILES.unknown == 2  # zebras, She
    assert FILES.seen == 2  # "she plans", twice


def test_the_baseline_is_that_of_a_counter() -> None:
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in chain(*TRAIN):
        tags[word][tag] += 1
    usual = Counter(tag for _, tag in chain(*TRAIN)).most_common(1)[0][0]
    right = [tag == (tags[word].most_common(1)[0][0] if word in tags else usual) for word, tag in chain(*TEST)]
    assert (FILES.baseline.right, FILES.baseline.total) == (sum(right), len(right))
    # By hand: she PRON, plans NOUN (wrong); zebras PRON (wrong), work VERB, the DET, plans NOUN; She PRON, fail VERB;
    # and the first sentence again.
    assert (FILES.baseline.right, FILES.baseline.total) == (7, 10)
    assert usual == "PRON"
    assert FILES.tags[FILES.baseline.tags[UNKNOWN]] == "PRON"


def test_the_first_of_equally_frequent_tags_is_the_baselines() -> None:
    files = tagged_files(b"a Y\na X\nb Y\nb X\n", b"a X\nc X\nb Y\n")
    assert files.baseline.tags.tolist() == [0, 0, 0, 0]
    assert files.baseline.right == 2


def test_numbers_survive_a_pipe() -> None:
    other = read_data(Plan(TAGGED, TASK.model, TASK.training), FILES.to_bytes())
    assert (other.words, other.tags, other.seen, other.digest) == (  # type: ignore[union-attr]
        FILES.words, FILES.tags, FILES.seen, FILES.digest,
    )  # fmt: skip
    for name in ("words", "tags", "lengths"):
        np.testing.assert_array_equal(getattr(other.test, name), getattr(FILES.test, name))  # type: ignore[union-attr]
    assert other.test.name == "test.txt"  # type: ignore[union-attr]
    assert FILES.test.nbytes == held(FILES.test)
    assert FILES.nbytes - held(FILES) > sum(map(len, FILES.words))  # the arrays and the words


def as_rows(sentences: list[list[tuple[str, str]]]) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {
        (
            tuple(FILES.labels.index(word) if word in FILES.words else UNKNOWN for word, _ in one),
            tuple(FILES.tags.index(tag) for _, tag in one),
        )
        for one in sentences
    }


def test_a_batch_has_sentences_of_the_training_file() -> None:
    drawn = TASK.batch(300, torch.Generator().manual_seed(0))
    once = {FILES.labels.index(word) for word in ("the", "fail")}
    found, dropped = set(), 0
    for ids, targets in zip(drawn.ids.tolist(), drawn.targets.tolist(), strict=True):
        length = len(ids) - ids.count(FILL)
        assert targets[length:] == [IGNORED] * (len(ids) - length)
        tags = tuple(targets[:length])
        same = next(row for row in as_rows(TRAIN) if row[1] == tags)
        for one, whole in zip(ids[:length], same[0], strict=True):
            assert one == whole or (one == UNKNOWN and whole in once)
            dropped += one == UNKNOWN
        found.add(tags)
    assert len(found) == 4
    assert 40 < dropped < 110  # half of two words of one sentence in four
    again = TASK.batch(300, torch.Generator().manual_seed(0))
    assert torch.equal(again.ids, drawn.ids)


def test_what_is_held_out_is_the_test_file() -> None:
    held = TASK.held_out()
    rows = {
        (tuple(one for one in ids if one != FILL), tuple(one for one in targets if one != IGNORED))
        for ids, targets in zip(held.ids.tolist(), held.targets.tolist(), strict=True)
    }
    assert rows == as_rows(TEST)
    assert sum(len(one) for one in TASK.tested()) == len(held) == 4


def test_accuracy_and_loss_are_torchs_word_by_word() -> None:
    model = build(TASK.model, 3).eval()
    losses, right = [], []
    for sentence in TEST:
        ids = torch.tensor([[FILES.labels.index(word) if word in FILES.words else UNKNOWN for word, _ in sentence]])
        targets = torch.tensor([FILES.tags.index(tag) for _, tag in sentence])
        with torch.no_grad():
            logits = model(ids)[0]
        losses += functional.cross_entropy(logits, targets, reduction="none").tolist()
        right += (logits.argmax(-1) == targets).tolist()
    found = evaluate_whole(model, TASK)
    assert found.accuracy == pytest.approx(sum(right) / 10)
    assert found.loss == pytest.approx(sum(losses) / 10, rel=1e-5)
    while_it_runs = Evaluator(TASK, 64).evaluate(model)
    assert while_it_runs["accuracy"] == pytest.approx(found.accuracy)
    assert while_it_runs["loss"] == pytest.approx(found.loss, rel=1e-5)
    assert heads_of(model, TASK) == {}


def test_a_model_learns_what_the_baseline_can_not() -> None:
    plan = Plan(TAGGED, TASK.model, TASK.training)
    subject = subject_of(plan, FILES)
    model = build(plan.model, 0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        drawn = subject.batch(32, generator)
        train_step(model, optimiser, drawn.ids, drawn.targets)
    assert evaluate_whole(model, subject).accuracy > FILES.baseline.accuracy


def test_a_plan_that_does_not_fit_its_files_is_refused() -> None:
    plan = Plan(TAGGED, TASK.model, TASK.training)
    Limits().check(plan, FILES)
    assert isinstance(task_of(plan, FILES), TaggedSentences)
    with pytest.raises(
        ValueError,
        match=r"^Tagging with your own files needs a training and a test file; no other training takes them\.$",
    ):
        Limits().check(plan)
    with pytest.raises(
        ValueError,
        match=r"^Tagging with your own files needs a training and a test file; no other training takes them\.$",
    ):
        Limits().check(Plan("tagging", TASK.model, TASK.training), FILES)
    other = tagged_files(b"a X\nb Y", b"a X")
    with pytest.raises(
        ValueError, match=r"^A model for 8 tokens, 4 tags and 6 words a sentence is not for files with 4, 2 and 2\.$"
    ):
        subject_of(plan, other)


def test_a_typed_text_is_read_as_a_file_is() -> None:
    tokens, _ = TASK.read("she plans, zebras (plans)! don't")
    assert tokens.pieces == ("she", "plans", ",", "zebras", "(", "plans")
    assert tokens.dropped == 3
    assert tokens.ids[:2] == (FILES.labels.index("she"), FILES.labels.index("plans"))
    assert tokens.ids[2:5] == (UNKNOWN,) * 3
    assert tokens.unknown == (False, False, True, True, True, False)
    assert known(tokens) == list(tokens.ids)  # the model reads an unknown word as one
    assert [tokens.text[start:end] for start, end in tokens.offsets] == list(tokens.pieces)
    assert TASK.read("")[0].ids == ()
    assert TASK.examples == ("she plans",)  # the only sentence of three words or more has an unknown one
    none_known = tagged_files(b"a X\nb Y\na Y", b"c X\nd Y")
    assert TaggedSentences(none_known).examples == (none_known.words[0],)


def test_words_alone_read_but_have_no_sentences() -> None:
    words = TaggedWords(FILES.labels, FILES.tags, 5)
    assert words.read("she plans")[0] == TASK.read("she plans")[0]
    assert words.examples == ("fail her plans she the work",)
    with pytest.raises(
        ValueError, match=r"^A model that learned from files can't be trained or measured without them\.$"
    ):
        words.held_out()


GOOD = b"the DET\nold ADJ\n\nshe\tPRON\nplans   VERB\n"


def refusal(data: bytes, which: str = "training") -> str:
    with pytest.raises(TaggedError) as caught:
        read_tagged(data, which)
    return str(caught.value)


def test_words_tags_and_sentences_are_read() -> None:
    found = read_tagged(GOOD, "training", "mine.txt")
    assert found.sentences == ((("the", "DET"), ("old", "ADJ")), (("she", "PRON"), ("plans", "VERB")))
    assert found.lines == {"DET": 1, "ADJ": 2, "PRON": 4, "VERB": 5}
    assert (found.name, found.characters) == ("mine.txt", len(GOOD))
    assert found.sha256 == hashlib.sha256(GOOD).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + GOOD,
        b"\n\n \t\n" + GOOD + b"\n\n\n",
        GOOD.rstrip(),
        GOOD.replace(b"old ADJ", b"  old \t ADJ  "),
    ],
)
def test_line_ends_blank_lines_and_spaces_make_no_difference(data: bytes) -> None:
    assert read_tagged(data, "test").sentences == read_tagged(GOOD, "test").sentences


def test_other_white_space_is_part_of_a_word() -> None:
    assert read_tagged("10\u00a0000 NUM\na\u2028b X\n".encode(), "test").sentences == (
        (("10\u00a0000", "NUM"), ("a\u2028b", "X")),
    )


RULE = "a line has a word and its tag, with a tab or spaces between them."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"the DET\nold\n", f"Line 2 of the training file has one column, “old”: {RULE}"),
        (b"1 the the DET\n", f"Line 1 of the training file has 4 columns: {RULE}"),
        (b"a " * 8, f"Line 1 of the training file has 8 columns: {RULE}"),
        (b"a " * 9, f"Line 1 of the training file has more than 8 columns: {RULE}"),
        (b"a " * 5000, f"Line 1 of the training file has more than 8 columns: {RULE}"),
        (b"\n \n\t\n", f"The training file has no sentences: {RULE}"),
        (b"", "A training file is UTF-8 text of up to 1 MB; this one is empty."),
        (b"a X\nb\0 Y", "A training file is UTF-8 text of up to 1 MB; this one holds NUL bytes, so it is not text "
         "(line 2)."),
        (b"a X\r\nb Y\r\n\xe9 Z", "A training file is UTF-8 text of up to 1 MB; this one has the byte 0xE9 at position "
         "10, which is not UTF-8: save it as UTF-8 (line 3)."),
        (b"a X\n" + b"b" * (LONGEST + 1) + b" Y", "Line 2 of the training file has a word of 61 characters; it can "
         "have 60."),
        (b"a " + b"X" * (LONGEST + 1), "Line 1 of the training file has a tag of 61 characters; it can have 60."),
        (b"a" * LONGEST + b" " + b"X" * (LONGEST + 1), "Line 1 of the training file has a tag of 61 characters; it can "
         "have 60."),
        (b"a X\n\n" + b"a X\n" * (MOST_WORDS + 1), "Line 131 of the training file is word 129 of its sentence, which "
         "can have 128: a blank line ends a sentence."),
        (b"a X\n\n" * (MOST_SENTENCES + 1), "Sentence 20,001 of the training file ends at line 40,001: a file can have "
         "20,000 sentences."),
        (b"a X\n" * (MOST_BYTES // 4) + b"b Y",
         "A training file is UTF-8 text of up to 1 MB; this one has 3 bytes more."),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_line(data: bytes, said: str) -> None:
    assert refusal(data) == said


def test_two_lines_too_many_sentences_end_where_they_end() -> None:
    data = b"a X\n\n" * MOST_SENTENCES
    assert len(read_tagged(data, "test").sentences) == MOST_SENTENCES


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_are_read_or_refused_in_one_sentence(data: bytes) -> None:
    try:
        found = read_tagged(data, "test")
    except TaggedError as why:
        said = str(why)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 300
    else:
        assert found.sentences
        assert all(
            word and tag and not set(word + tag) & set(" \t\r\n") for one in found.sentences for word, tag in one
        )


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0"), min_size=1, max_size=8)


@given(st.lists(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5), min_size=1, max_size=5))
def test_what_is_written_is_read_again(sentences: list[list[tuple[str, str]]]) -> None:
    text = "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in one) for one in sentences)
    if text.startswith("\ufeff"):
        return  # a byte order mark
    assert read_tagged(text.encode(), "test").sentences == tuple(map(tuple, sentences))


def refused(train: bytes, test: bytes) -> str:
    with pytest.raises(TaggedError) as caught:
        tagged_files(train, test)
    return str(caught.value)


def test_what_two_files_lack_together_is_named() -> None:
    missing = "Line 3 of the test file has the tag “Z”, which the training file lacks: no model can learn it."
    assert refused(b"a X\nb Y", b"a X\n\nc Z\nd W") == missing
    assert refused(b"a X\nb X", b"a X") == "The training file has one tag only, “X”, so there is nothing to learn."
    many = b"".join(b"a T%d\n\n" % number for number in range(101))
    assert refused(many, b"a T1") == "Line 201 of the training file has the tag “T100”, the 101st: there can be 100."


def test_too_many_different_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.training.tagged.files.MOST_DIFFERENT", 2)
    assert refused(b"a X\nb Y\nc Y\n", b"a X") == (
        "The training file has 3 different words; it can have 2: use fewer of its sentences."
    )


def test_the_bound_of_different_words_is_that_of_a_models_file() -> None:
    from attnviz.trained.files import LARGEST_VOCABULARY
    from attnviz.training.tagged.files import NO_WORDS

    assert files.MOST_DIFFERENT + len(NO_WORDS) == LARGEST_VOCABULARY


def test_reading_twice_gives_equal_files() -> None:
    one, other = (made_of(read_tagged(GOOD, "training"), read_tagged(GOOD, "test")) for _ in range(2))
    assert one.digest == other.digest
    assert one.digest != tagged_files(GOOD, GOOD + b"\n").digest
