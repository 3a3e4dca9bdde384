"""What is computed *about* attention: numbers for each head, labels that follow from them, rollout, norms.

Weights say where a head looks. They are not by themselves an explanation of what a model answers (Jain and Wallace
2019, "Attention is not Explanation").
"""

from attnviz.measures.labels import label_heads, possible_labels
from attnviz.measures.norms import moved_norms
from attnviz.measures.parts import weights_in_parts
from attnviz.measures.rollout import mean_weights, rollout
from attnviz.measures.rows import distance, entropy, weight_at, weight_on
from attnviz.measures.summary import Measure, average, chance, choose_measures, measure_head

__all__ = [
    "Measure",
    "average",
    "chance",
    "choose_measures",
    "distance",
    "entropy",
    "label_heads",
    "mean_weights",
    "measure_head",
    "moved_norms",
    "possible_labels",
    "rollout",
    "weight_at",
    "weight_on",
    "weights_in_parts",
]
