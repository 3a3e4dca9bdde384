"""Nine mistakes in lecture notes and in code on the web: the wrong line of code, the right one, and how they differ.

The lines are PyTorch code; a test runs them. `computed` runs both on a text; this module needs no torch.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """The code and the explanation of a mistake."""

    title: str
    says: str
    """What the wrong line does, in a sentence"""
    wrong: str
    """The wrong lines of code"""
    right: str
    """The right ones"""
    notice: str
    """Why it matters, in a sentence or two, whatever the text and the model are"""


TEXTS: dict[str, Text] = {
    "maps": Text(
        "A T × T map as a linear layer",
        "The matrix stands on the left and has a row and a column for each token: it mixes tokens, not features.",
        "q = W @ x  # W: (T, T)",
        "q = x @ W  # W: (C, D)",
        "A linear layer does the same to each token alone, for any number of tokens. A T × T map fits one length only, "
        "and the query of a token already depends on the tokens after it, before any mask can hide them.",
    ),
    "fill": Text(
        "−1e10, before scaling",
        "Hidden scores become −1e10, not −∞, and that before they are scaled. Here the mask is causal and the first "
        "token is padding, as where short texts are padded on the left: row 0 sees nothing at all.",
        "s = s.masked_fill(hidden, -1e10) / D**0.5\nweights = softmax(s, -1)",
        "s = (s / D**0.5).masked_fill(hidden, -inf)\nweights = softmax(s, -1)",
        "A row that sees something comes out the same. A row that is wholly hidden does not: all its scores are the "
        "same −1e10, so it spreads its attention evenly over all tokens, those after it too. With −∞ its softmax is "
        "NaN, which nobody overlooks; here such a row is set to 0.",
    ),
    "cross": Text(
        "Cross-attention, arguments swapped",
        "The queries are made from the encoder's output, the keys and values from the decoder's tokens.",
        "y = attention(encoded, y, y)  # q, k, v",
        "y = attention(y, encoded, encoded)",
        "The rows are then tokens of the text that is read. They can't be added to the decoder's rows, unless both "
        "texts happen to have as many tokens: then no error says so. And each row sees all that the decoder has "
        "written, also what comes later.",
    ),
    "relu": Text(
        "The activation after the second map",
        "The activation follows the second linear map, in place of standing between the two.",
        "y = relu(second(first(x)))",
        "y = second(relu(first(x)))",
        "Two linear maps without anything between them are one linear map: the wide layer adds nothing. And ReLU "
        "leaves nothing below 0 (GELU nothing below −0.17), so a feed-forward can only add to the residual stream.",
    ),
    "norm": Text(
        "A norm over all tokens",
        "One mean and one variance are taken of all tokens together.",
        "y = layer_norm(x, x.shape)  # (T, C)",
        "y = layer_norm(x, x.shape[-1:])  # (C,)",
        "Each row then depends on all rows: the future leaks into the past, and no causal mask can prevent it. Nor is "
        "any row normalised.",
    ),
    "width": Text(
        "A width that the heads don't divide",
        "The width of a head is C // H, rounded down, and nothing checks that nothing is left over.",
        "D = C // H\nheads = q[:, :H * D].view(T, H, D)",
        "assert C % H == 0\nheads = q.view(T, H, C // H)",
        "The last dimensions of Q, K and V are computed and never read, and the heads' outputs side by side are "
        "narrower than the stream to which they are added.",
    ),
    "mask": Text(
        "A “causal” model without a mask",
        "The weights are the softmax of all scores: nothing is hidden.",
        "s = q @ k.T / D**0.5\nweights = softmax(s, -1)",
        "s = q @ k.T / D**0.5 + mask  # 0 or -inf\nweights = softmax(s, -1)",
        "A model that is to predict the next token then reads it. Its loss in training is low, but it can't write: "
        "there, the next token does not exist yet.",
    ),
    "sum": Text(
        "Heads summed, not joined",
        "The outputs of the heads are added up, and one small matrix maps the sum to the model's width.",
        "y = sum(heads) @ W_O[:D] + b_O",
        "y = cat(heads, -1) @ W_O + b_O",
        "A sum does not depend on the order of its terms: if two heads change places, nothing changes. Side by side, "
        "each head has rows of W_O of its own.",
    ),
    "same": Text(
        "Q = K = V on random vectors",
        "Query, key and value are the token's own random vector of C numbers: nothing is projected.",
        "q = k = v = x\nweights = softmax(q @ k.T / C**0.5, -1)",
        "q, k, v = x @ W_Q, x @ W_K, x @ W_V\nweights = softmax(q @ k.T / C**0.5, -1)",
        "A random vector's product with itself grows with C, that with another one only with √C. So with many "
        "dimensions every token attends to itself alone (and to the same word elsewhere), and attention does nothing.",
    ),
}
"""By their names in links, in the order of the page"""
NAMES: tuple[str, ...] = tuple(TEXTS)
