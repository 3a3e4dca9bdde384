"""A model that is trained as code of plain torch: the source of `attnviz.toy` for its settings."""

from __future__ import annotations

from attnviz.export.code.settled import Setting, settled
from attnviz.export.code.source import Extract
from attnviz.toy.language import model
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig, has_attention

ACTIVATIONS = {"relu": "F.relu({})", "gelu": "F.gelu({})", "gelu_tanh": "F.gelu({}, approximate='tanh')"}
STACKS = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder"}
"""Of an encoder with a decoder: where each kind of attention is"""


def class_of(config: ModelConfig) -> str:
    """Return the name of the class of a model."""
    if isinstance(config, TokenConfig):
        return model.TokenModel.__name__
    return (model.GRUModel if isinstance(config, GRUConfig) else model.BigramModel).__name__


def model_code(config: ModelConfig, *, learns: bool = True) -> Extract:
    """Return the class of a model and what it uses; `V`, `T` and the usual imports are defined before it.

    Args:
        config: the model.
        learns: whether it is trained; else its weights need no gradients.
    """
    if isinstance(config, BigramConfig):
        begin, setting = "", Setting({"vocabulary": "V"}, {"self.block_size": "1"})
    elif isinstance(config, GRUConfig):
        begin = f"C = {config.width}  # width\n\n\n"
        names = {"vocabulary": "V", "width": "C", "layers": str(config.layers)}
        setting = Setting(names, {"self.block_size": "T"})
    else:
        begin = f"C, H, L = {config.width}, {config.heads}, {config.layers}  # width, heads, blocks\n\n\n"
        setting = _of_transformer(config, learns=learns)
    found = settled(class_of(config), model.__name__, setting)
    return Extract(found.imports, f"{begin}{found.text}\n")


def attentions(config: ModelConfig, kind: str) -> str:
    """Return all attentions of a kind as an expression; "" if the model has none."""
    if not has_attention(config):
        return ""
    if config.architecture == "both":
        name = "cross_attention" if kind == "cross" else "attention"
        return f"[one.{name} for one in model.blocks.{STACKS[kind]}.layers]"
    return "[one.attention for one in model.blocks.layers]" if kind == config.architecture else ""


def _of_transformer(config: TokenConfig, *, learns: bool) -> Setting:
    is_both, is_whole = config.architecture == "both", config.layers > 0 and config.is_complete
    blocks = "Seq2Seq()" if is_both else "Encoder()" if is_whole else "ReducedStack()"
    hidden, dropout, is_decoder = config.feed_forward_width, float(config.dropout), config.architecture == "decoder"
    activation = ACTIVATIONS[config.activation]
    shape = {"width": "C", "heads": "H", "layers": "L", "bias": str(config.bias), "dropout": str(dropout)}
    without = {} if learns else {"scaled.requires_grad": "False"}
    if config.padding is None:
        without |= {"self._padding_mask(ids)": "None", "self._padding_mask(source)": "None"}
    return Setting(
        {**shape, "hidden": str(hidden), "eps": "1e-05", "norm_first": "True", "final_norm": "None",
         "decoder_layers": "None"},
        {**{f"config.{name}": value for name, value in shape.items()},
         "self.config": "config", "config.vocabulary": "V", "config.block_size": "T",
         "config.logit_count": "V" if config.outputs is None else str(config.outputs),
         "config.norm": str(config.norm), "config.feed_forward": str(hidden), "self.residual": str(config.residual),
         "config.padding": str(config.padding), "self.config.padding": str(config.padding),
         "self.config.architecture": repr(config.architecture), "_blocks(config)": blocks,
         "isinstance(blocks, Seq2Seq)": str(is_both), "self.heads": "H", "self.norm_first": "True",
         "self.causal": str(is_decoder), "self.activation": repr(config.activation),
         "self.feed_forward is not None": str(hidden != 0),
         "ACTIVATIONS[self.activation](self.first(x))": activation.format("self.first(x)"),
         **without},
        ("y_mask",) if is_both else ("source",), merges=not is_both,
    )  # fmt: skip
