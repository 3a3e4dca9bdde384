"""The steps around an attention in a transformer: residual sums, norms, feed-forward, logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.steps.transformer import feed_forward, head, norms, residuals, vocabulary

if TYPE_CHECKING:
    from attnviz.steps.step import Step
    from attnviz.trace.walk import Walk

BEFORE: dict[str, Step[Walk]] = {norms.INPUT.name: norms.INPUT}
"""The steps between the input X and the attention, by name"""

AFTER: dict[str, Step[Walk]] = {
    step.name: step
    for step in (
        residuals.ATTENTION,
        norms.ATTENTION,
        norms.FEED_FORWARD,
        feed_forward.HIDDEN,
        feed_forward.OUTPUT,
        residuals.FEED_FORWARD,
        norms.BLOCK,
        norms.FINAL,
        head.TRANSFORM,
        norms.HEAD,
        vocabulary.LOGITS,
        vocabulary.PROBABILITIES,
    )
}
"""The steps after the attention's output, by name, in order; a part of a block has some of them"""
