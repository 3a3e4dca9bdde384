"""Every text architecture that transformers registers, tiny and with random weights: is it shown, or refused, and how?

    python -m tests.unit.pretrained.architectures --write    # writes the table of docs/models.md

Each model runs in this process or in that of a chunk (`outcomes`), so that one that crashes takes no other with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers.models.auto import modeling_auto

MAPPINGS = {
    "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "base": modeling_auto.MODEL_MAPPING_NAMES,
}
VOCABULARY = 128
WORDS = ["the", "cat", "sat", "on", "mat", "and", "dog", "one", "two", "three"]
TEXT, PAIR = "the cat sat on the mat and the dog sat", "the dog sat on the cat"
MOST_NUMBERS = 10_000_000
"""The most parameters of a tiny model"""

SMALL: tuple[tuple[str, int], ...] = (
    (r"vocab_size|^vocab$", VOCABULARY),
    (r"head_dim|d_kv|kv_channels|attention_head_size|d_head|qk_nope|qk_rope|v_head", 8),
    (r"lora_rank|latent_size", 16),
    (r"num_key_value|num_kv|n_head_kv|multi_query_group_num", 2),
    (r"(heads?|n_head|num_attention_heads|attention_heads)$", 4),
    (r"experts_per|top_?k|n_group|topk_group", 1),
    (r"n_shared_experts", 1),
    (r"num_experts|n_routed_experts|num_local_experts|moe_num_experts|n_experts", 2),
    (r"(intermediate|ffn|inner|feed_?forward).*(size|dim)?$|^d_ff$|hidden_dim|(^|_)ffn_dim", 48),
    (r"(layers|n_layer|num_blocks|num_hidden_layers|hidden_groups)$", 2),
    (r"(hidden_size|d_model|n_embd|embed_dim|embedding_size|d_embed|^dim|hidden_dim|emb_dim|proj_dim|width)$", 32),
    (r"(max_position_embeddings|n_positions|max_seq_len|n_ctx|max_source_positions|max_target_positions)$", 64),
)  # fmt: skip
"""Patterns of a setting's name, and the number that a tiny model has there; the first that fits counts"""


@dataclass(frozen=True)
class Outcome:
    """What becomes of one architecture."""

    architecture: str
    model_type: str
    state: str
    """equal, refused, not built, or different"""
    words: str = ""
    """The refusal, or why it is not built, or how it differs"""


def architectures() -> dict[str, str]:
    """Return the model type of each text architecture by its name."""
    found: dict[str, str] = {}
    for names in MAPPINGS.values():
        for model_type, of_type in names.items():
            for name in (of_type,) if isinstance(of_type, str) else of_type:
                found.setdefault(name, model_type)
    return found


def takes_text(architecture: Any) -> bool:
    """Whether a class of transformers says that token ids are its main input, and text its only one."""
    kinds = architecture.input_modalities
    return architecture.main_input_name == "input_ids" and (kinds == "text" or tuple(kinds) == ("text",))


def small(settings: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return small numbers for those settings of a configuration that say its size."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in own:
            continue
        number = next((number for pattern, number in SMALL if re.search(pattern, name)), None)
        if number is not None and isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found[name] = number
    return {**found, **own}


def tiny(config_class: Any, own: Mapping[str, Any] | None = None) -> Any:
    """Return a configuration of a class with small numbers."""
    default = config_class()
    parts = {
        name: tiny(type(inner)).to_dict()
        for name in default.sub_configs
        if isinstance(inner := getattr(default, name, None), tf.PreTrainedConfig)
    }
    settings = {
        name: value for name, value in default.to_dict().items() if name not in ("layer_types", *default.sub_configs)
    }
    return config_class(**parts, **small(settings, own or {}))


def tokenizer(*, adds: bool = False) -> Any:
    """Return a tokenizer of words, which adds [CLS] and [SEP] to each text or does not."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    backend = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    if adds:
        backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    return tf.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")


def made(name: str, model_type: str) -> Any:
    """Return a tiny random model."""
    config_class = type(tf.AutoConfig.for_model(model_type))
    config = tiny(config_class, OWN.get(model_type))
    architecture = getattr(tf, name)
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in architecture(config).parameters())
    if size > MOST_NUMBERS:
        raise ValueError(f"{size:,} parameters")
    torch.manual_seed(0)
    model = architecture(tiny(config_class, OWN.get(model_type))).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


OWN: dict[str, dict[str, Any]] = {}
