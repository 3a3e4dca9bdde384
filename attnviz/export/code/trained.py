"""Exports a head of a trained model as code that reads the model's file and computes the whole model on the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from attnviz.export.code.lines import Cell, compare_places, literals
from attnviz.export.code.model import watch
from attnviz.export.code.models import STACKS, model_code
from attnviz.export.code.training import import_lines
from attnviz.pretrained.names import ModelError
from attnviz.tokens import NO_ID, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk
from attnviz.trained.model import NO_ATTENTION, TrainedModel
from attnviz.trained.shipped import OWN

IMPORTS = (
    "import hashlib",
    "from pathlib import Path",
    "from safetensors.torch import load_file",
    "from torch import nn",
)
LOAD = """\
{imports}

{where}
FILE = Path({file})
SHA256 = {digest}
{ids}
V, T = {vocabulary}, {block}  # tokens of the vocabulary, and the longest sequence
assert hashlib.sha256(FILE.read_bytes()).hexdigest() == SHA256, "this is another file"\
"""
MODEL = """\
{code}

model = TokenModel().eval().requires_grad_(False)
model.load_state_dict({{name: one.float() for name, one in load_file(FILE).items()}})  # the file holds float16\
"""
WITHOUT_ROW = """
model.token.weight = nn.Parameter(torch.cat([model.token.weight, torch.zeros(1, C)]), requires_grad=False)  # row V\
"""
SHIPPED = (
    "# It ships with attnviz, in assets/weights, and the app exports it beside this code: put it in the same folder."
)
OF_VISITOR = "# The model's own file, as you opened it or as the page Train saves it; write its name here."
IDS = "{name} = {ids}  # {what}: one id per token{unknown}"
UNKNOWN = "; V is not in the vocabulary, and its embedding is 0"
RUN = """\
attention = model.get_submodule("{path}")
attention.register_forward_pre_hook(lambda module, args: setattr(module, "takes", args[0]))
with torch.inference_mode():
    {run}
x, steps = attention.takes[0], attention.steps  # x: what the queries are made of; the batch has one text
query, key, value, scale, mask = steps.query[0], steps.key[0], steps.value[0], steps.scale, steps.mask
W_O, b_O = attention.output.weight.T, attention.output.bias
show("embeddings", x)
show("query", query[HEAD])
show("key", key[HEAD])
show("value", value[HEAD])\
"""
PROBABILITIES = """\
COMPUTED[PLACE]["probabilities"] = torch.softmax(COMPUTED[PLACE]["logits"], dim=-1)
show("probabilities", COMPUTED[PLACE]["probabilities"])\
"""
FORWARD = {
    "feed_forward_norm": "feed_forward_norm", "feed_forward_inner": "feed_forward.first",
    "feed_forward_hidden": "feed_forward.second<", "feed_forward_output": "feed_forward.second",
    "feed_forward_residual": "",
}  # fmt: skip
"""The steps of a layer after its attention: the modules that give them, as `watch` takes them"""


@dataclass(frozen=True, slots=True)
class TrainedRecipe:
    """The code for one attention of a trained model on a text. It holds plain values, not the model."""

    name: str
    digest: str
    """Of the file, sha256"""
    config: TokenConfig
    tokens: Tokens
    target: Tokens | None
    place: Place

    def cells(self, walk: Walk) -> tuple[Cell, ...]:
        """Return the cells from the file and the ids to query, key and value."""
        del walk  # the file and the ids determine everything
        known = self.tokens.ids if self.target is None else (*self.tokens.ids, *self.target.ids)
        more = WITHOUT_ROW if NO_ID in known else ""
        plain = replace(self.config, dropout=0.0, padding=None)  # of one text nothing is filled up
        code = model_code(plain, learns=False)
        return (
            Cell("markdown", "## The model's file and the text"),
            Cell("code", self._load(code.imports)),
            Cell("markdown", "## The model"),
            Cell("code", MODEL.format(code=code.text) + more),
            Cell("markdown", "## query, key, value: the text on its way through the model"),
            Cell("code", RUN.format(path=self.path, run=self.run)),
        )

    @property
    def run(self) -> str:
        """The expression that runs the model on the text."""
        return f"model(torch.tensor([{'IDS' if self.target is None else 'TARGET_IDS'}])" + (
            ")" if self.target is None else ", torch.tensor([IDS]))"
        )

    @property
    def path(self) -> str:
        """The path of the attention's module in the model."""
        stack = STACKS[self.place.kind] + "." if self.target is not None else ""
        name = "cross_attention" if self.place.kind == "cross" else "attention"
        return f"blocks.{stack}layers.{self.place.layer}.{name}"

    def steps(self) -> dict[str, str]:
        """Return the modules that give the steps around the attention, as `watch` takes them."""
        layer, _, name = self.path.rpartition(".")
        after = "cross_attention_norm" if (self.target is not None and name == "attention") else "feed_forward_norm"
        if self.place.kind == "encoder" or self.target is None:
            after = "feed_forward_norm" if self.config.norm else "feed_forward"
        residual = f"{after}<" if self.config.feed_forward != 0 else ""
        modules = {"input_norm": f"{name}_norm", "attention_residual": residual, **FORWARD}
        return {
            **{step: f"{layer}.{module}".rstrip(".") for step, module in modules.items()},
            "final_norm": f"{layer.partition('.layers.')[0]}.norm", "logits": "head",
        }  # fmt: skip

    def _load(self, imports: Iterable[str]) -> str:
        config, ids = self.config, _ids("IDS", "the tokenizer's output", self.tokens, self.config)
        if self.target is not None:
            ids += "\n" + _ids("TARGET_IDS", "what the decoder has written", self.target, self.config)
        return LOAD.format(
            imports=import_lines(imports, usual=IMPORTS),
            where=OF_VISITOR if self.name.startswith(OWN) else SHIPPED, file=ascii(f"{self.name}.safetensors"),
            digest=ascii(self.digest), ids=ids, vocabulary=config.vocabulary, block=config.block_size,
        )  # fmt: skip


def trained_recipe(model: TrainedModel, text: str, pair: str | None, place: Place) -> TrainedRecipe:
    """Collect from a model the values that the code of one attention contains.

    Raises:
        ModelError: the model has no attention.
    """
    config = model.plan.model
    if not isinstance(config, TokenConfig):
        raise ModelError(NO_ATTENTION)
    return TrainedRecipe(model.name, model.digest, config, *model.read(text, pair), place)


def around_trained(walk: Walk, recipe: TrainedRecipe) -> Iterator[Cell]:
    """Yield the code of the steps around a walk's attention."""
    part = walk.block
    if part is None:
        return
    modules = {name: module for name, module in recipe.steps().items() if name in part.matrices}
    if part.rest:  # of a large vocabulary the page shows some tokens only
        modules.pop("logits", None)
    if modules:
        yield Cell("markdown", "## The steps around this attention, the same as on the page")
        yield watch(modules, part.place, recipe.run)
        shown = [*modules, "probabilities"] if "logits" in modules else list(modules)
        if "logits" in modules:
            yield Cell("code", PROBABILITIES)
        yield compare_places({part.place: {name: part.matrices[name] for name in shown}})


def _ids(name: str, what: str, tokens: Tokens, config: TokenConfig) -> str:
    ids = literals([config.vocabulary if one == NO_ID else one for one in tokens.ids])
    return IDS.format(name=name, ids=ids, what=what, unknown=UNKNOWN if NO_ID in tokens.ids else "")
