"""Every text architecture that transformers registers, tiny and with random weights: is it shown, or refused, and how?

    python -m tests.unit.pretrained.architectures    # writes the table of docs/models.md anew

An architecture is one type of model in the mappings of AutoModelForCausalLM, AutoModelForMaskedLM,
AutoModelForSeq2SeqLM and AutoModel, by its class in the first of these that has it.
"""

from __future__ import annotations

import copy
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers.initialization import no_init_weights
from transformers.models.auto import modeling_auto

from attnviz.pretrained import ModelError, Trace, open_model
from attnviz.pretrained.attention_interface import with_and_without_sink
from attnviz.pretrained.configuration import auto_class
from attnviz.pretrained.own_code import whole_of_blocks
from attnviz.pretrained.unfit import SizeError, check_model, check_numbers
from tests.scripts import ROOT, run_alone

TABLE = Path(__file__).parents[3] / "docs" / "models.md"
BEGIN, END = "<!-- the table begins: python -m tests.unit.pretrained.architectures -->", "<!-- the table ends -->"
MAPPINGS = (
    modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    modeling_auto.MODEL_MAPPING_NAMES,
)
VOCABULARY = 128
WORDS = ["the", "cat", "sat", "on", "mat", "and", "dog", "one", "two", "three"]
TEXT, PAIR = "the cat sat on the mat and the dog sat", "the dog sat on the cat"
MOST = 1e-6
"""The largest difference between weights, as everywhere in the tests"""
MOST_NUMBERS = 12_000_000
"""The most parameters of a tiny model"""
ENDED = "the process of the test ended"

SMALL: tuple[tuple[str, int], ...] = (
    (r"vocab_size|^vocab$", VOCABULARY),
    (r"^pad_token_id$", 0),
    (r"^(bos|decoder_start|cls|mask)_token_id$", 2),
    (r"^(eos|sep)_token_id$", 3),
    (r"head_dim|d_kv|kv_channels|attention_head_size|d_head|qk_nope|qk_rope|v_head", 8),
    (r"lora_rank|latent_size", 16),
    (r"num_key_value|num_kv|n_head_kv|multi_query_group_num", 4),
    (r"(heads?|n_head|num_attention_heads|attention_heads)$", 4),
    (r"experts_per|top_?k|n_group|topk_group", 1),
    (r"n_shared_experts", 1),
    (r"num_experts|n_routed_experts|num_local_experts|moe_num_experts|n_experts", 2),
    (r"sliding_window|local_attention|attention_window", 4),
    (r"(intermediate|ffn|inner|feed_?forward).*(size|dim)?$|^d_ff$|hidden_dim|(^|_)ffn_dim", 48),
    (r"(layers|n_layer|num_blocks|num_hidden_layers|hidden_groups)$", 2),
    (r"(hidden_size|d_model|n_embd|embed_dim|embedding_size|d_embed|^dim|hidden_dim|emb_dim|proj_dim|width)$", 32),
    (r"(max_position_embeddings|n_positions|max_seq_len|n_ctx|max_source_positions|max_target_positions)$", 64),
)
"""Patterns of a setting's name, and the number that a tiny model has there; the first that fits counts"""

OWN: dict[str, dict[str, Any]] = {
    "blt": {"encoder_hash_byte_group_vocab": VOCABULARY},
    "deepseek_v2": {"topk_method": "greedy"},
    "ernie4_5_moe": {"moe_k": 1},
    "esm": {"vocab_size": VOCABULARY, "pad_token_id": 0},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1},
    "lilt": {"channel_shrink_ratio": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8},
    "mimo_v2_flash": {"num_key_value_heads": 2},
    "ministral": {"head_dim": 8},
    "mobilebert": {"intra_bottleneck_size": 8, "true_hidden_size": 8, "embedding_size": 16},
    "nemotron": {"head_dim": 8},
    "qwen3_next": {"num_hidden_layers": 4},
    "qwen3_5_text": {"num_hidden_layers": 4},
    "qwen3_5_moe_text": {"num_hidden_layers": 4},
    "reformer": {"axial_pos_embds_dim": [16, 16], "axial_pos_shape": [8, 8], "is_decoder": True},
    "gpt_neo": {"num_layers": 2, "attention_types": [[["global", "local"], 1]]},
    "xmod": {"default_language": "en_XX"},
    "gptj": {"rotary_dim": 4},
    "codegen": {"rotary_dim": 4},
}
"""Settings of types that the patterns do not fit"""


@dataclass(frozen=True)
class Outcome:
    """What becomes of one architecture."""

    state: str
    """equal, refused, not built, or different"""
    words: str = ""
    """The refusal, or why it is not built, or how it differs"""
    name: str = ""
    """Its class"""


def architectures() -> dict[str, str]:
    """Return the class of each type that says that token ids are its main input, and text its only one, and of each
    type with a language head."""
    with_head = {model_type for mapping in MAPPINGS[:3] for model_type in mapping}
    found: dict[str, str] = {}
    for mapping in MAPPINGS:
        for model_type, names in mapping.items():
            found.setdefault(model_type, names if isinstance(names, str) else names[0])
    return {one: name for one, name in sorted(found.items()) if one in with_head or _reads_text(name)}


def _reads_text(name: str) -> bool:
    try:
        architecture = getattr(tf, name)
        kinds = architecture.input_modalities
    except (AttributeError, ImportError):
        return False
    return architecture.main_input_name == "input_ids" and (kinds == "text" or tuple(kinds) == ("text",))


def small(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return small numbers for those settings of a configuration that say its size."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        number = next((number for pattern, number in SMALL if re.search(pattern, name)), None)
        if number is not None and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            found[name] = min(number, value) if value and not name.endswith("token_id") else number if value else value
    return {**found, **own}


def tiny(config_class: Any, own: Mapping[str, Any]) -> Any:
    """Return a configuration of a class with small numbers."""
    default = config_class()
    parts = {
        name: tiny(type(inner), OWN.get(inner.model_type, {})).to_dict()
        for name in default.sub_configs
        if isinstance(inner := getattr(default, name, None), tf.PreTrainedConfig)
    }
    settings = {
        name: value for name, value in default.to_dict().items() if name not in ("layer_types", *default.sub_configs)
    }
    return config_class(**parts, **small(settings, own))


def tokenizer(*, adds: bool = False) -> Any:
    """Return a tokenizer of words, which adds [CLS] and [SEP] to each text or does not."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if adds:
        backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


def undrawn(architecture: Any, config: Any) -> Any:
    """Return a model whose weights are any numbers: to draw them takes two fifths of the time of making it."""
    with no_init_weights():
        model = architecture(config)
    model.tie_weights()
    return model


def made(name: str, model_type: str) -> Any:
    """Return a tiny random model of a class.

    Raises:
        Exception: what transformers raises if no configuration with small numbers fits it.
    """
    architecture = getattr(tf, name)
    default = tf.AutoConfig.for_model(model_type)
    wanted = architecture.config_class
    parts = [getattr(default, part, None) for part in default.sub_configs]
    config_class = next((type(one) for one in (default, *parts) if wanted and isinstance(one, wanted)), type(default))
    error: Exception | None = None
    for more in ({}, {"num_key_value_heads": 2}, {"num_hidden_layers": 4}, {"head_dim": 8}):
        try:
            config = tiny(config_class, {**OWN.get(config_class.model_type, {}), **more})
            if getattr(config, "pad_token_id", None) is not None:
                config.pad_token_id = 0
            torch.manual_seed(0)
            model = undrawn(architecture, config).eval()
            size = sum(parameter.numel() for parameter in model.parameters())  # memory that nothing is written to yet
            if size > MOST_NUMBERS:
                raise ValueError(f"still {size:,} parameters")
            for parameter in model.parameters():
                torch.nn.init.normal_(parameter, std=0.2)
            return model
        except Exception as raised:
            error = error or raised
    raise error or AssertionError


def outcome(name: str, model_type: str) -> Outcome:
    """Make a tiny model of an architecture and compare its trace with transformers' own eager attention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = made(name, model_type)
        except Exception as error:  # whatever transformers raises
            return Outcome("not built", " ".join(str(error).split())[:160] or type(error).__name__)
        try:
            refused = _refused_by_size(model, model_type)
        except Exception as error:
            refused = f"{type(error).__name__}: {error}"
        if refused:
            return Outcome("different", refused)
        try:
            trace = open_model(model, tokenizer()).trace(TEXT, PAIR if model.config.is_encoder_decoder else None)
        except ModelError as error:
            return Outcome("refused", str(error))
        try:
            return _compared(model, trace)
        except Exception as error:  # a fault of ours, or of the test's, which must not end the process
            return Outcome("different", f"{type(error).__name__}: {error}")


def _refused_by_size(model: Any, model_type: str) -> str:
    """Return why files of a model, or its type's own configuration, are refused as too large; "" if they are not."""
    auto = auto_class(model.config)
    with TemporaryDirectory() as name:
        folder = Path(name)
        try:
            tf.AutoConfig.for_model(model_type).save_pretrained(folder)
            check_numbers(folder)
            model.save_pretrained(folder)
            check_numbers(folder)
            if auto is not tf.AutoModel or type(model.config) in modeling_auto.MODEL_MAPPING:
                check_model(folder, copy.deepcopy(model.config), auto)
        except SizeError as error:
            return str(error)
    return ""


def _compared(model: Any, trace: Trace) -> Outcome:
    model.set_attn_implementation("eager")
    model.config._attn_implementation = "eager"  # Falcon's can't be set otherwise
    inputs = {"input_ids": torch.tensor([trace.tokens.ids])}
    if trace.decoder_tokens is not None:
        inputs["decoder_input_ids"] = torch.tensor([trace.decoder_tokens.ids])
    with torch.inference_mode():
        done = model(**inputs, output_attentions=True, use_cache=False)
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for kind in trace.kinds:
        given = getattr(done, names[kind] if trace.decoder_tokens is not None else "attentions", None)
        n = len(trace.tokens)  # of an encoder, whose attention LongT5 computes in blocks
        theirs = [_whole(one, n) for one in given or () if isinstance(one, Tensor)]
        if len(theirs) > len(trace.layers[kind]):  # layers of linear attention return something else than weights
            theirs = [one for one in theirs if one.ndim == 4 and bool((one.sum(-1) - 1).abs().max() < 1e-3)]
        if len(theirs) != len(trace.layers[kind]):
            return Outcome("different", f"{len(trace.layers[kind])} {kind} layers, {len(theirs)} of transformers")
        for layer, wanted in zip(trace.numbers[kind], theirs, strict=True):
            # Some return the weights of the keys alone, and take the share of the sink from the output.
            ours = with_and_without_sink(trace.layer(layer, kind).all_heads())
            if ours[0].shape != wanted[0].shape:
                shapes = f"{tuple(ours[0].shape)}, {tuple(wanted.shape)}"
                return Outcome("different", f"{kind} layer {layer}: shapes {shapes}")
            difference = min(float((weights - wanted[0]).abs().max()) for weights in ours)
            if not difference <= MOST:
                return Outcome("different", f"{kind} layer {layer}: {difference:.1e}")
    return Outcome("equal")


def _whole(weights: Tensor, n: int) -> Tensor:
    """Return weights of blocks, (B, blocks, H, L, 3L), as (B, H, n, n); others as they are."""
    return weights if weights.ndim != 5 else whole_of_blocks(weights, n).clamp(min=0)


def outcomes() -> dict[str, Outcome]:
    """Return what becomes of every architecture. They run in a process of their own, and where one of them ends it, the
    others in another."""
    found: dict[str, Outcome] = {}
    code = f"import sys; from {__spec__.name} import main; main(sys.argv[1:])"  # __name__ of a program is __main__
    while True:
        after = next(reversed(found), "")
        done = run_alone(code, "--after", after, cwd=ROOT, on_warning="ignore", timeout=590, has_attnviz=True)
        for line in done.stdout.splitlines():
            if len(parts := line.split("\t")) == 4:
                found[parts[0]] = Outcome(parts[2], parts[3], parts[1])
        if done.returncode == 0:
            return found
        if next(reversed(found), "") == after:
            raise RuntimeError(done.stderr)


def table(found: Mapping[str, Outcome]) -> str:
    """Return the table of docs/models.md, and the reasons that its rows name by number."""
    lines = ["| type | class of transformers | outcome |", "| --- | --- | --- |"]
    words = {"equal": "shown", "refused": "refused", "not built": "not tried", "different": "DIFFERENT"}
    reasons: dict[str, int] = {}
    for model_type, one in sorted(found.items()):
        reason = one.words.removeprefix(f"{one.name} ")
        number = f" [{reasons.setdefault(reason, len(reasons) + 1)}]" if reason else ""
        lines.append(f"| {model_type} | {one.name} | {words[one.state]}{number} |")
    counts = defaultdict(int)
    for one in found.values():
        counts[one.state] += 1
    summary = (
        f"Of {len(found)} types in transformers {tf.__version__}, {counts['equal']} are shown, {counts['refused']} are "
        f"refused in one sentence, and of {counts['not built']} no tiny model could be made, so they were not tried. "
        "The reasons stand below the table, by number."
    )
    written_reasons = (f"- [{number}] " + reason.replace("][", "]\\[") for reason, number in reasons.items())  # no link
    return "\n".join([summary, "", *lines, "", *written_reasons])


def written() -> str:
    """Return the table that docs/models.md has."""
    return TABLE.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def say(model_type: str, name: str, one: Outcome) -> None:
    """Print an outcome, for `outcomes` in another process."""
    sys.stdout.write("\t".join((model_type, name, one.state, one.words.replace("\t", " "))) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Write the table of all, or, given `--after TYPE`, print the outcomes of the types after this one.

    Of each it first prints that it has ended the process, which then does not stay the last word on it.
    """
    if arguments:
        torch.set_num_threads(1)
        for model_type, name in architectures().items():
            if model_type > arguments[1]:
                say(model_type, name, Outcome("not built", ENDED))
                say(model_type, name, outcome(name, model_type))
        return
    before, _, rest = TABLE.read_text().partition(BEGIN)
    TABLE.write_text(f"{before}{BEGIN}\n\n{table(outcomes())}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv[1:])
