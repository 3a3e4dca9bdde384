"""Batches of texts through the built-in model, against transformers and sentence-transformers, text by text."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import Tensor
from transformers import BertModel

import attnviz.bert
from attnviz.bert import encoding
from attnviz.bert.encoding import SENTENCE_TOKENS, embed_sentences, hidden_states, token_ids
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import HEADS, WIDTH, find_folder

TEXTS = (
    "A dog barks.", "", "The animal didn't cross the street because it was too tired.", "Hund 🐶 日本語 \x00 <b>\u202e",
    "one " * 700, "Ünïcode, and then some more words than the others have in all of their sentences together.",
)  # fmt: skip


@pytest.mark.parametrize("batch", [1, 4, 32])
def test_batches_give_what_transformers_gives_text_by_text(minilm: BuiltInModel, theirs: BertModel, batch: int) -> None:
    """Also of an empty text, of one that is cut to 512 tokens, and whatever else is in the batch."""
    found = hidden_states(minilm, TEXTS, batch=batch)
    assert [len(one) for one in found] == [len(minilm.tokenize(text)) for text in TEXTS]
    for text, one in zip(TEXTS, found, strict=True):
        expected: Tensor = theirs(torch.tensor([minilm.tokenize(text).ids])).last_hidden_state[0]
        torch.testing.assert_close(one, expected, rtol=0, atol=1e-5)


def test_sentence_embeddings_are_those_of_sentence_transformers(minilm: BuiltInModel) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own imports
        from sentence_transformers import SentenceTransformer
    expected = SentenceTransformer(str(find_folder()), device="cpu").encode(list(TEXTS), show_progress_bar=False)
    found = attnviz.bert.embed_sentences(TEXTS)
    assert found.shape == (len(TEXTS), WIDTH) and found.dtype == torch.float32
    torch.testing.assert_close(found, torch.from_numpy(expected), rtol=0, atol=1e-5)
    torch.testing.assert_close(found.norm(dim=-1), torch.ones(len(TEXTS)))
    torch.testing.assert_close(embed_sentences(TEXTS, model=minilm, batch=1), found, rtol=0, atol=1e-5)


def test_ids_are_cut_and_end_with_sep(minilm: BuiltInModel) -> None:
    ids = token_ids(minilm, ["one " * 300, "one"], SENTENCE_TOKENS)
    assert [len(one) for one in ids] == [SENTENCE_TOKENS, 3]
    assert ids[0][0] == ids[1][0] == 101 and ids[0][-1] == ids[1][-1] == 102
    assert token_ids(minilm, ["one two"], 2) == [(101, 102)]
    with pytest.raises(ValueError, match=r"^max_tokens is 1; it must be at least 2$"):
        token_ids(minilm, ["one"], 1)


def test_no_texts_and_no_batch(minilm: BuiltInModel) -> None:
    assert hidden_states(minilm, []) == []
    assert embed_sentences([], model=minilm).shape == (0, WIDTH)
    with pytest.raises(ValueError, match=r"^a batch of 0 texts: there must be at least 1$"):
        hidden_states(minilm, TEXTS, batch=0)


def test_progress_counts_texts_and_ends_the_work(minilm: BuiltInModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "AT_ONCE", HEADS * 5**2 * 3)  # three texts of five tokens
    seen: list[int] = []
    embed_sentences(["a dog ran", "cats"] * 4, model=minilm, progress=seen.append)
    assert seen == [3, 6, 8]  # the limit counts every text of a batch as long as its longest

    def stop(done: int) -> None:
        seen.append(done)
        raise KeyError(done)

    with pytest.raises(KeyError):
        embed_sentences(["a dog ran", "cats"] * 40, model=minilm, batch=2, progress=stop)
    assert seen[3:] == [2]


def test_what_comes_out_can_train_a_classifier(minilm: BuiltInModel) -> None:
    layer = torch.nn.Linear(WIDTH, 2)
    layer(hidden_states(minilm, ["a dog"])[0][:1]).sum().backward()  # tensors of inference_mode would raise here
    assert layer.weight.grad is not None
