"""The built-in model, MiniLM-L6: the project's own encoder with the weights of all-MiniLM-L6-v2.

Its publisher gives it no head that names tokens; its masked-language head is this project's (`masked_head`).

It does not import transformers, whose import alone takes longer than loading this model.

It runs as a TorchScript graph, because a server's other threads build pages at the same time. In Python, a forward pass
acquires the interpreter lock some two hundred times and may wait each time: next to one busy thread, a pass of 16
tokens takes 300 ms instead of 18. The graph acquires the lock once, and the same pass takes 22 ms. Its operations are
those of the encoder, so the results are identical bit for bit.

`torch.jit.trace` is deprecated in favour of `torch.export`, whose programs run in the interpreter, and `torch.compile`,
which needs a C++ compiler where the app runs and fuses operations, which changes the last bits.
"""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.attention import padding_mask
from attnviz.pretrained.described import (
    FEED_FORWARD,
    HEADS,
    LAYERS,
    MASK,
    VOCABULARY,
    WEIGHTS,
    WIDTH,
    describe,
    read_tokenizer,
)
from attnviz.pretrained.masked_head import HeadWeights, read_weights
from attnviz.pretrained.model import BlockMaps, ModuleNames, PretrainedModel, padded
from attnviz.pretrained.names import BUILT_IN, ModelError
from attnviz.tokens import MAX_POSITIONS, Tokens
from attnviz.toy.layers import EncoderLayer
from attnviz.toy.stacks import Bert, BertEmbeddings, Encoder
from attnviz.trace.model import Kind
from attnviz.trace.recorder import Call, Pass, is_replacing, recording
from attnviz.trace.vocabulary import Vocabulary

EXAMPLE = (101, 102)
"""Token ids of the example from which the graph is traced: [CLS] and [SEP]. The graph takes any number of tokens."""
OPERANDS = 4
"""The number of tensors that `RecordedBert` returns for each layer"""


class RecordedBert(nn.Module):
    """BERT that returns the operands of its attention calls as plain tensors."""

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, ids: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        """Encode (T,) ids and segments: returns query, key, value and input of each layer, then the hidden state."""
        with recording() as recorder:
            hidden = self.bert(ids, segments)
        operands = [(call.query, call.key, call.value, call.query_input) for call in recorder.calls]
        return (*(tensor for call_operands in operands for tensor in call_operands if tensor is not None), hidden)


def compiled(bert: Bert) -> Callable[[Tensor, Tensor], Pass]:
    """Return a function from (T,) ids and segments to the record of the forward pass."""
    example = torch.tensor(EXAMPLE), torch.zeros(len(EXAMPLE), dtype=torch.long)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # deprecation, and Python values that become constants of the graph
        graph = torch.jit.trace(RecordedBert(bert), example, check_trace=False)

    def run(ids: Tensor, segments: Tensor) -> Pass:
        with torch.inference_mode():
            *operands, hidden = graph(ids, segments)
        by_call = zip(*(operands[first::OPERANDS] for first in range(OPERANDS)), strict=True)
        calls = (
            Call(query, key, value, None, 1 / math.sqrt(query.shape[-1]), x, x) for query, key, value, x in by_call
        )
        return Pass(tuple(calls), hidden)

    return run


SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The published digest of all-MiniLM-L6-v2's model.safetensors."""
EPS = 1e-12
"""The norms' eps, from the model's config.json"""

RENAMED = (
    (r"^embeddings\.(word|position)_embeddings", r"embeddings.\1"),
    (r"^embeddings\.word", "embeddings.token"),
    (r"^embeddings\.token_type_embeddings", "embeddings.segment"),
    (r"^embeddings\.LayerNorm", "embeddings.norm"),
    (r"^encoder\.layer\.", "encoder.layers."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense", ".attention.output"),
    (r"\.attention\.output\.LayerNorm", ".attention_norm"),
    (r"\.intermediate\.dense", ".feed_forward.first"),
    (r"(layers\.\d+)\.output\.dense", r"\1.feed_forward.second"),
    (r"(layers\.\d+)\.output\.LayerNorm", r"\1.feed_forward_norm"),
)
"""Pattern -> replacement, applied in order, from BERT's parameter names to those of the project's encoder"""


class BuiltInModel(PretrainedModel):
    """MiniLM-L6 with BERT's WordPiece tokenizer."""

    name = BUILT_IN
    is_encoder_decoder = False
    takes_segments = True
    mask: tuple[str, int]
    vocabulary: Vocabulary
    max_tokens = MAX_POSITIONS
    has_positions = True

    def __init__(self, folder: Path, head: HeadWeights | None = None) -> None:
        """Load the weights.

        Args:
            folder: the folder with the model's files.
            head: its masked-language head; by default the one that ships with the app.

        Raises:
            ModelError: the digest of the weights is not the published one.
        """
        super().__init__()
        check_digest(folder)
        self.bert = load_bert(folder / WEIGHTS)
        self._graph: Callable[[Tensor, Tensor], Pass] | None = None
        self._making = Lock()
        self.tokenizer = read_tokenizer(folder)
        self.blocks = tuple(_maps(layer) for layer in self.bert.encoder.layers if isinstance(layer, EncoderLayer))
        self.description = describe(folder)
        weights = read_weights() if head is None else head
        self.mask = MASK, self.tokenizer.id_of(MASK)
        self.vocabulary = weights.vocabulary(self.embeddings, self.label, self.mask[1], self.description.head_note)
        self.language_head = self.vocabulary.logits
        self.output_bias, self.head_outputs = weights.bias, len(weights.bias)

    @property
    def embeddings(self) -> Tensor:
        """The token embeddings, (V, C); callers must not change them."""
        return self.bert.embeddings.token.weight

    @property
    def body(self) -> Bert:
        """The encoder; callers must not change it."""
        return self.bert

    def tokenize(self, text: str, pair: str | None = None) -> Tokens:
        """Tokenise a text, or a pair, as [CLS] text [SEP] pair [SEP]."""
        return self.tokenizer.tokenize(text, pair, max_tokens=self.max_tokens)

    def label(self, token: int) -> str:
        """Return the piece of the vocabulary with this id."""
        return self.tokenizer.piece(token)

    def forward_copies(
        self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None, copies: int
    ) -> Tensor:
        """Run the encoder on copies of one text; return the last hidden states, (copies, T, C).

        What is the same for all copies is computed once: a pass becomes a batch at the first layer whose replaced heads
        (`attnviz.trace.recorder`) differ between the copies.
        """
        del decoder_ids  # this model has no decoder
        hidden: Tensor = self.bert(torch.tensor(ids), torch.tensor(segments))
        return hidden.expand(copies, *hidden.shape[-2:])

    def padded_forward(self, ids: Sequence[Sequence[int]], segments: Sequence[Sequence[int]]) -> Tensor:
        """Run texts, padded to the longest, on the device of the weights: returns the last hidden states, (B, T, C)."""
        device = self.bert.embeddings.token.weight.device
        padded_ids, lengths = padded(ids)
        longest = padded_ids.shape[1]
        mask = None if int(lengths.min()) == longest else padding_mask(lengths, longest).to(device)
        embedded = self.bert.embeddings(padded_ids.to(device), padded(segments)[0].to(device))
        hidden: Tensor = self.bert.encoder(embedded, mask=mask)
        return hidden

    def run(self, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None) -> Pass:
        """Run the forward pass as a compiled graph; the result is that of `PretrainedModel.run`, bit for bit.

        If heads are replaced (`attnviz.trace.recorder`), which the graph does not support, the pass runs in Python.
        """
        if is_replacing():
            return super().run(ids, segments, decoder_ids)
        return self.graph()(torch.tensor(ids), torch.tensor(segments))

    def graph(self) -> Callable[[Tensor, Tensor], Pass]:
        """Return the compiled forward pass. Compiling takes a quarter of a second, at the first call."""
        with self._making:
            if self._graph is None:
                self._graph = compiled(self.bert)
            return self._graph

    def module_names(self, layer: int, kind: Kind) -> ModuleNames:
        """Return the names of a layer's attention modules in transformers' BERT."""
        del kind  # is always "encoder"
        attention = f"encoder.layer.{layer}.attention"
        return ModuleNames(f"{attention}.self", ("query", "key", "value"), f"{attention}.output.dense")


def check_digest(folder: Path) -> None:
    """Compare the digest of the weights file with the published one.

    Raises:
        ModelError: they differ.
    """
    with (folder / WEIGHTS).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise ModelError("The built-in model's file is not the one that its publisher lists; install it again.")


def load_bert(file: Path) -> Bert:
    """Return a `Bert` with copies of the weights from a file with transformers' parameter names."""
    # Not on the "meta" device, where the random initialisation of embeddings imports torch's compiler, which takes 4 s.
    with torch.random.fork_rng(devices=[]):
        encoder = Encoder(
            WIDTH, layers=LAYERS, heads=HEADS, feed_forward=FEED_FORWARD, activation="gelu", eps=EPS
        )  # fmt: skip
        bert = Bert(BertEmbeddings(VOCABULARY, MAX_POSITIONS, WIDTH, eps=EPS), encoder)
    weights = {renamed(name): weight for name, weight in load_file(file).items()}
    bert.load_state_dict({name: weights[name].clone() for name in bert.state_dict()}, assign=True)
    return bert.eval().requires_grad_(False)


def renamed(name: str) -> str:
    """Return the project's name for a parameter of transformers' BERT."""
    for pattern, replacement in RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def _maps(layer: EncoderLayer) -> BlockMaps:
    maps = layer.attention.projections(), layer.attention.output_projection()
    return BlockMaps("encoder", *maps, after_attention=layer.after, weights=layer.weights())
