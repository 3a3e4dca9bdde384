"""The words, formulas and lines of PyTorch of the four ways from an average to attention."""

from __future__ import annotations

from dataclasses import dataclass

CODE_WIDTH = 30
"""Characters of a line that fit beside the picture at 1280 pixels, in lecture mode too"""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to mix the past into each token."""

    title: str
    formula: str
    notice: str
    code: str
    """From `x`, (T, C), and where attention is meant `query` and `key`, (T, D), to `averages`, (T, C); no line is
    longer than `CODE_WIDTH`"""


WAYS = {
    "loop": Way(
        "A loop",
        r"y_i = \frac{1}{i+1} \sum_{j=0}^{i} x_j",
        "The plainest way to tell a token about its past: average its row with all rows before it.",
        """averages = torch.zeros_like(x)
for i in range(len(x)):
    for j in range(i + 1):
        averages[i] += x[j]
    averages[i] /= i + 1""",
    ),
    "matrix": Way(
        "A matrix",
        r"Y = A\,X, \qquad A_{ij} = \tfrac{1}{i+1} \;\text{for}\; j \le i",
        "The loop is one matrix product. Row i of A says how much of every token goes into token i: 1, ½ ½, ⅓ ⅓ ⅓, …",
        """T = len(x)
past = torch.ones(T, T).tril()
n = past.sum(1, keepdim=True)
weights = past / n
averages = weights @ x""",
    ),
    "softmax": Way(
        "A softmax",
        r"Y = \operatorname{softmax}(0 + M)\,X",
        "The same A again: equal scores, all 0, with the future at −∞. Softmax turns equal scores into equal shares.",
        """T = len(x)
scores = torch.zeros(T, T)
past = torch.ones(T, T).tril()
masked = scores.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
    ),
    "data": Way(
        "Scores from the data",
        r"Y = \operatorname{softmax}\!\left(\tfrac{1}{\sqrt D}\,Q K^{\top} + M\right) X",
        "Now the zeros make room for q·k: each token decides how much of its past it takes. That is attention.",
        """T, D = query.shape
scores = query @ key.T
scaled = scores / math.sqrt(D)
past = torch.ones(T, T).tril()
masked = scaled.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
    ),
}
