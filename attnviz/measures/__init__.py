"""Measures of attention: numbers per head, labels derived from them, rollout and norms.

Attention weights show where a head looks. By themselves they do not explain a model's output (Jain and Wallace 2019,
"Attention is not Explanation").
"""

from attnviz.measures.chunks import weights_by_chunk
from attnviz.measures.labels import label_heads, possible_labels
from attnviz.measures.norms import transformed_norms
from attnviz.measures.rollout import mean_weights, rollout
from attnviz.measures.rows import distance, entropy, weight_at, weight_on
from attnviz.measures.summary import Measure, average, choose_measures, measure_head, uniform_measures

__all__ = [
    "Measure",
    "average",
    "choose_measures",
    "distance",
    "entropy",
    "label_heads",
    "mean_weights",
    "measure_head",
    "possible_labels",
    "rollout",
    "transformed_norms",
    "uniform_measures",
    "weight_at",
    "weight_on",
    "weights_by_chunk",
]
