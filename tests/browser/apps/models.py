"""What the server says of models of any size, for the diagram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

Architecture = Literal["encoder", "decoder", "both"]
HEAD = ["qkv", "scores", "scaled", "masked", "weights", "head_outputs", "concat", "output"]
FEED_FORWARD = ["feed_forward_hidden", "feed_forward_output", "feed_forward_residual"]


def model(
    architecture: Architecture = "encoder",
    depth: int = 2,
    *,
    norm_first: bool = False,
    width: int = 32,
    tokens: int = 9,
) -> dict[str, Any]:
    """Describe a model as the page's header does."""
    stacks = {"encoder": ["encoder"], "decoder": ["decoder"], "both": ["encoder", "decoder"]}[architecture]
    has_head = architecture != "encoder"
    attentions = [one for stack in stacks for one in _stack(stack, depth, norm_first, architecture == "both", width)]
    ends = (["final_norm"] if norm_first else []) + (["logits", "probabilities"] if has_head else [])
    attentions[-1]["steps"] += ends
    for one in attentions:
        one["steps"] = [[step, step.replace("_", " ")] for step in one["steps"]]
    labels = [f"w{n}" for n in range(tokens)]
    return {
        "attentions": attentions,
        **{"norm_first": norm_first, "width": width},
        "vocabulary": 7 if has_head else None,
        "tokens": {stack: labels if stack in stacks else None for stack in ("encoder", "decoder")},
        **{"positions": "sinusoidal", "final_norm": norm_first, "head": has_head},
    }


def _stack(stack: str, depth: int, norm_first: bool, crosses: bool, width: int) -> Iterator[dict[str, Any]]:
    kinds = [stack, "cross"] if stack == "decoder" and crosses else [stack]
    for block in range(depth):
        for kind in kinds:
            first = ["embeddings"] if block == 0 and kind == stack else []
            sums = ["attention_residual"] + ([] if norm_first else ["attention_norm"])
            steps = [*first, *(["input_norm"] if norm_first else []), *HEAD, *sums]
            if kind == kinds[-1]:
                steps += [*(["feed_forward_norm"] if norm_first else []), *FEED_FORWARD]
                steps += [] if norm_first else ["block_output"]
            yield {
                **{"stack": stack, "block": block, "kind": kind, "heads": 4, "head_size": width // 4},
                **{"feed_forward": [[width, 4 * width], [4 * width, width]], "steps": steps},
            }
