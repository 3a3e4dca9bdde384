"""A linear layer on given vectors: trained as a job like all other models, to the weights of a plain torch loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from torch import nn
from torch.nn import functional

from attnviz.toy.language.config import BigramConfig, LinearConfig
from attnviz.training.evaluation import Evaluator
from attnviz.training.jobs.jobs import Job, Jobs, held_by
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import VECTOR_BYTES, LabelledVectors, Limits, Plan, TooLargeError, subject_of
from attnviz.training.settings import TEXT, VECTORS, TrainingSettings
from attnviz.training.vectors import Vectors, split
from tests.training import train_step
from tests.waiting import until

N, C, CLASSES, STEPS, BATCH, RATE, SEED = 90, 12, 3, 40, 16, 0.02, 5


def vectors(number: int = N, seed: int = 0) -> LabelledVectors:
    drawn = np.random.default_rng(seed)
    classes = drawn.integers(CLASSES, size=number)
    features = drawn.normal(size=(number, C)) + np.eye(CLASSES, C)[classes] * 1.5
    return LabelledVectors(features.astype(np.float32), classes)


def plan(steps: int = STEPS, seed: int = SEED) -> Plan:
    settings = TrainingSettings(steps=steps, batch=BATCH, learning_rate=RATE, warm_up=0, seed=seed)
    return Plan(VECTORS, LinearConfig(C, CLASSES), settings)


def by_hand(data: LabelledVectors, seed: int) -> tuple[list[float], nn.Linear, torch.Tensor, torch.Tensor]:
    """Train with torch alone: returns the losses, the layer, and the vectors and classes that are held out."""
    x, y = torch.from_numpy(data.features.copy()), torch.from_numpy(data.classes.copy())
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    held: set[int] = set()
    for one in range(CLASSES):
        rows = [row for row in order.tolist() if y[row] == one]
        held |= {*rows[: max(1, round(len(rows) / 4))]}
    train, test = (torch.tensor([row for row in order.tolist() if (row in held) == out]) for out in (False, True))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = nn.Linear(C, CLASSES)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=0.0, fused=True)
    drawn, losses = torch.Generator().manual_seed(seed), []
    for _ in range(STEPS):
        rows = train[torch.randperm(len(train), generator=drawn)[:BATCH]]
        losses.append(train_step(layer, optimiser, x[rows], y[rows]))
    return losses, layer, x[test], y[test]


@pytest.fixture(scope="module")
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def ended(job: Job) -> Job:
    until(lambda: job.view.has_ended)
    return job


def test_a_job_gives_the_losses_and_weights_of_a_plain_loop(jobs: Jobs) -> None:
    data = vectors()
    view = ended(jobs.start("a", plan(), data)).view
    losses, layer, x, y = by_hand(data, SEED)
    assert (view.status, view.message) == ("done", "")
    np.testing.assert_allclose(view.losses, losses, atol=1e-6)
    found = model_of(LinearConfig(C, CLASSES), view.snapshots[-1].weights).state_dict()
    for name, one in layer.state_dict().items():
        assert torch.equal(found[name], one.half().float()), name
    logits = layer(x)
    last = view.evaluations[-1]
    assert last.loss == pytest.approx(functional.cross_entropy(logits, y).item(), abs=1e-6)
    assert last.accuracy == pytest.approx(accuracy_score(y, logits.argmax(-1)))


def test_all_held_out_vectors_are_evaluated_each_time() -> None:
    subject = Vectors(vectors(400), CLASSES, 0)
    layer, held = nn.Linear(C, CLASSES), subject.held_out()
    expected = functional.cross_entropy(layer(held.ids), held.targets).item()
    for whole in (False, True):
        assert Evaluator(subject, 8).evaluate(layer, whole=whole)["loss"] == pytest.approx(expected, abs=1e-6)


def test_other_seeds_follow_on_the_same_vectors_and_split_them_anew(jobs: Jobs) -> None:
    data = vectors()
    jobs.start("b", plan(seed=0), data, then=[plan(seed=1), plan(seed=2)])
    until(lambda: len(jobs.jobs("b")) == 3 and jobs.jobs("b")[0].view.has_ended)
    found = jobs.jobs("b")[::-1]
    assert [one.plan.training.seed for one in found] == [0, 1, 2]
    for seed, job in enumerate(found):
        np.testing.assert_allclose(job.view.losses, by_hand(data, seed)[0], atol=1e-6)
    own = [sum(len(one.weights) for one in job.view.snapshots) + 8 * STEPS for job in found]
    assert held_by(found) == sum(own) + data.nbytes  # one copy of the vectors


@pytest.mark.parametrize("seed", range(4))
def test_a_split_holds_out_a_quarter_of_each_class(seed: int) -> None:
    classes = torch.from_numpy(np.repeat([0, 1, 2, 3], [40, 5, 7, 101]))
    train, held = split(classes, seed)
    assert sorted([*train.tolist(), *held.tolist()]) == list(range(len(classes)))
    assert torch.bincount(classes[held]).tolist() == [10, 1, 2, 25]
    again = split(classes, seed)
    assert torch.equal(again[0], train)
    assert torch.equal(again[1], held)
    assert not torch.equal(split(classes, seed + 1)[1], held)
    assert held.tolist() != sorted(held.tolist())  # so that a part of them has all classes


def test_a_batch_holds_no_vector_twice_and_none_that_is_held_out() -> None:
    data = vectors()
    subject = Vectors(data, CLASSES, 0)
    drawn = subject.batch(1000, torch.Generator().manual_seed(1))
    rows = {tuple(row) for row in drawn.ids.tolist()}
    assert len(rows) == len(drawn) == len(subject.train_rows)
    assert rows.isdisjoint({tuple(row) for row in subject.held_out().ids.tolist()})


def test_vectors_survive_the_pipe_and_plans_json() -> None:
    data = vectors()
    back = LabelledVectors.from_bytes(data.to_bytes())
    assert back.digest == data.digest
    np.testing.assert_array_equal(back.features, data.features)
    np.testing.assert_array_equal(back.classes, data.classes)
    assert data.digest != vectors(seed=1).digest
    assert Plan.from_json(plan().to_json()) == plan()
    with pytest.raises(ValueError, match="read-only"):
        data.features[0, 0] = 1


@pytest.mark.parametrize(
    ("features", "classes", "why"),
    [
        (np.zeros((2, 3)), [0, 1, 1], "are not"), (np.zeros(3), [0, 1, 1], "are not"),
        (np.zeros((0, 3)), [], "are not"), (np.full((2, 3), np.nan), [0, 1], "finite"),
        (np.zeros((2, 3)), [0, -1], "count"),
    ],
)  # fmt: skip
def test_what_is_no_labelled_vectors_is_refused(features: np.ndarray, classes: list[int], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LabelledVectors(features.astype(np.float32), np.array(classes, np.int64))


def test_data_of_another_kind_or_size_are_refused_in_words() -> None:
    limits, data = Limits(), vectors()
    limits.check(plan(), data)
    text = Plan(TEXT, BigramConfig(3), TrainingSettings())
    wider = Plan(VECTORS, LinearConfig(C + 1, CLASSES), TrainingSettings())
    fewer = Plan(VECTORS, LinearConfig(C, CLASSES - 1), TrainingSettings())
    for one, given in [(plan(), None), (plan(), "abc"), (text, data), (text, None), (wider, data), (fewer, data),
                       (Plan(VECTORS, BigramConfig(3), TrainingSettings()), data)]:  # fmt: skip
        with pytest.raises(ValueError, match=r"\.$"):
            limits.check(one, given)
        if given is not None:
            with pytest.raises(ValueError, match=r"\.$"):
                subject_of(one, given)
    rows = VECTOR_BYTES // 4 // C + 1
    large = LabelledVectors(np.zeros((rows, C), np.float32), np.zeros(rows, np.int64))
    with pytest.raises(TooLargeError, match=r"^The vectors are more than 16 MB\.$"):
        limits.check(plan(), large)
    with pytest.raises(TooLargeError, match=r"^A training on this server has at most 10 steps\.$"):
        Limits(steps=10).check(plan(), data)
    with pytest.raises(TooLargeError, match=r"^A training on this server has at most 30 parameters\.$"):
        Limits(parameters=30).check(plan(), data)
    with pytest.raises(ValueError, match=r"^features is 0; it must be at least 1$"):
        LinearConfig(0, 2)


def test_the_last_class_is_one_less_than_their_number() -> None:
    data = LabelledVectors(np.zeros((8, 3), np.float32), np.array([0, 1, 2, 2] * 2, np.int64))
    assert Vectors(data, 3, 0).labels == ("0", "1", "2")
    with pytest.raises(ValueError, match=r"^a vector has class 2: there are 0 to 1$"):
        Vectors(data, 2, 0)
