"""The code of position biases in scripts that load a model of transformers with attention code of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnviz.pretrained.model import ModuleNames
from attnviz.trace.layer import LayerTrace
from attnviz.trace.position_bias import PositionTerms, TermName

BIASES = {
    "BloomAttention": ('kwargs["alibi"]', 'recorded["bias"].view(len(query), 1, -1)'),
    "FalconAttention": ('kwargs["alibi"]', 'recorded["bias"].mul(scale).view(len(query), 1, -1)'),
    "MptAttention": ('kwargs["position_bias"]', 'recorded["bias"][:, :, -len(x) :]'),
    "MPNetSelfAttention": ("args[2]", 'recorded["bias"][0]'),
}
"""By the class of an attention module: the argument with its position bias, and (H, 1 or Tq, Tk) of it"""
RECORD = """
    recorded["bias"] = {}\
"""
OF_TERMS = 'kwargs["relative_pos"], kwargs["rel_embeddings"]'
"""The arguments with what DeBERTa's terms are made of"""
TERMS = """\
relative, embeddings = recorded["bias"]
middle = len(embeddings) // 2  # the row of relative position 0
relative_positions = relative[0].clamp({first}, {last})  # (T, T): query minus key; far away, the number of a bucket
row_of_table = (relative_positions - {first}).expand(len(query), -1, -1)  # (H, T, T)
with torch.inference_mode():
    rows = embeddings[middle + {first} : middle + {last} + 1]  # of the relative positions in this text
{tables}
{products}
position_bias = {names}  # (H, T, T)
{shown}
"""
TABLES: dict[TermName, str] = {
    "content_to_position": "    position_key = heads(attention.{0}(rows))  # (H, R, D)",
    "position_to_content": "    position_query = heads(attention.{1}(rows))  # (H, R, D)",
}
PRODUCTS: dict[TermName, str] = {
    "content_to_position": """\
of_rows = query @ position_key.transpose(-2, -1)  # (H, T, R)
content_to_position = of_rows.gather(2, row_of_table) * scale""",
    "position_to_content": """\
of_rows = key @ position_query.transpose(-2, -1)  # (H, T, R)
position_to_content = of_rows.gather(2, row_of_table.transpose(-2, -1)).transpose(-2, -1) * scale""",
}


LONGT5 = """\
at, first = torch.arange(len(x)), model.get_submodule("encoder.block.0.layer.0.LocalSelfAttention")
buckets = first._relative_position_bucket(
    at - at[:, None], True, first.relative_attention_num_buckets, first.relative_attention_max_distance
)
position_bias = first.relative_attention_bias(buckets).permute(2, 0, 1).detach()  # (H, T, T), of the first layer
"""
OUTSIDE = "position_bias = position_bias.masked_fill(~mask, -torch.inf)  # no bias is shown outside of the window\n"


@dataclass(frozen=True, slots=True)
class BiasCode:
    """The code of a layer's position bias; "" if it has none."""

    record: str = ""
    """The line that records what it is made of"""
    lines: str = ""
    """The lines that define `position_bias`, (H, Tq, Tk)"""


def bias_code(layer: LayerTrace, body: Any, names: ModuleNames) -> BiasCode:
    """Return the code of the position bias of a layer, which the module with these names computes in a model."""
    bias = layer.position_bias
    if bias is None:
        return BiasCode()
    if bias.terms is not None:
        from attnviz.pretrained.own_code import position_maps  # transformers, which most scripts do without

        return BiasCode(RECORD.format(OF_TERMS), _terms(bias.terms, position_maps(body.get_submodule(names.attention))))
    if names.own_code == "LongT5LocalAttention":
        return BiasCode(lines=LONGT5 + ("" if layer.mask.cells is None else OUTSIDE))
    argument, of_argument = BIASES[names.own_code]
    lines = f"position_bias = {of_argument}.expand(len(query), len(x), -1)  # (H, Tq, Tk)\n"
    return BiasCode(RECORD.format(argument), lines)


def _terms(terms: PositionTerms, maps: tuple[str, str]) -> str:
    """Return the code of DeBERTa's terms; `maps` are the names of the layers that make their keys and queries."""
    table = terms.position_key if terms.position_query is None else terms.position_query
    return TERMS.format(
        first=terms.first,
        last=terms.first + (0 if table is None else table.shape[1] - 1),
        tables="\n".join(TABLES[name].format(*maps) for name in terms.names),
        products="\n".join(PRODUCTS[name] for name in terms.names),
        names=" + ".join(terms.names),
        shown="\n".join(f'show("{name}", {name}[HEAD])' for name in terms.names),
    )
