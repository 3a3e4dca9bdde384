"""The keys of a link to a part of BERT."""

from __future__ import annotations

from attnviz.links.values import HeadsOff, Index, Integer, Key, Number, Switch, Text, titled

SUBSETS = (1, 2, 3, 4, 6, 8, 12)
"""The numbers of parts that an embedding may be cut into: they divide 384, the width of the built-in model"""
QUERY, MAX_QUERY, MAX_HITS = "The software stopped working.", 200, 30
"""The default query; maximum characters of a query; maximum rows of a ranking"""
MAX_BLOCKS, MAX_KEPT = 6, 20
"""Maximum blocks of the first language model; maximum tokens listed for a blank"""
MAX_PIECE = 40
"""Maximum characters of a search in the vocabulary"""
MAX_SENTENCE = 4000
"""Maximum characters of a sentence to classify: some 800 words, more than the model takes"""
MAX_CLASS_STEPS = 2000
SENTENCE = "The acting is superb and the ending moved me to tears."
REPORT = "Since the dose was raised she feels dizzy every morning and can hardly eat."

BERT_KEYS: dict[str, Key] = {
    # In the order of the chapters: the last part is one that the built-in model can't do.
    "bert_part": Key(
        "configuration",
        titled(
            configuration="Configuration",
            back="Embeddings and back",
            language="Language model",
            subsets="One head or several",
            classifier="Classifier",
            agent="Agent",
            search="Search",
            without="Heads switched off",
            blank="Fill the blank",
        ),
        "the part of the page, from the model's configuration to the model without some heads",
    ),
    "back_weights": Key(
        "tied",
        titled({"tied": "The model's own", "random": "Random"}),
        "embeddings and back: the model's embedding table as embedding and output layer, or random weights for each",
    ),
    "back_unit": Key(
        False, Switch(), "embeddings and back: whether the rows of the table are divided by their lengths"
    ),
    "back_scale": Key(
        "1",
        titled({"1": "1", "10": "10", "100": "100"}),
        "embeddings and back: what the logits are multiplied by before the softmax",
    ),
    "back_view": Key(
        "each",
        titled(
            each="Each token",
            one="One token, written out",
            near="Nearest neighbours",
            bias="Output layer's bias",
            targets="What the targets decide",
        ),
        "embeddings and back: candidates for each token, one token written out, the nearest neighbours, tokens "
        "that the output bias favours, or the targets' effect",
    ),
    "back_piece": Key(
        "",
        Text(MAX_PIECE),
        "embeddings and back: a piece of the vocabulary whose neighbours are shown instead of the token's",
    ),
    "lm_blocks": Key(
        2,
        Integer(1, MAX_BLOCKS),
        "a first language model: its number of blocks, each parameter-free attention and a linear layer",
    ),
    "lm_mask": Key(True, Switch(), "whether its blocks have the causal mask"),
    "lm_x": Key(
        "tokens",
        titled({"tokens": "rows of E", "embeddings": "with positions, normalised"}),
        "the input of its blocks: rows of the embedding matrix, or the model's whole embeddings, with "
        "positions and normalised",
    ),
    "lm_block": Key(0, Index(), "the block whose attention is shown"),
    "subset_heads": Key(
        4,
        titled({heads: str(heads) for heads in SUBSETS}),
        "heads on subsets of the embedding: the parts into which its columns are cut",
    ),
    "find": Key(QUERY, Text(MAX_QUERY), "search by meaning: the query"),
    "find_view": Key(
        "ranking",
        titled({"ranking": "Ranking", "tokens": "Token by token", "map": "Map"}),
        "the view of the search: the ranking by meaning and by words, the tokens of query and hit, or all "
        "sentences in the plane",
    ),
    "hits": Key(6, Integer(1, MAX_HITS), "how many sentences of each ranking are listed"),
    "hit": Key(None, Index(), "the selected sentence of the text; without it, the best hit"),
    "blank_at": Key(
        None,
        Index(),
        "the word hidden from the model; in fill the blank, a token masked besides the text's masks (without any: "
        "mostly the last word)",
    ),
    "blank_kept": Key(5, Integer(1, MAX_KEPT), "how many of the likeliest tokens are listed"),
    "off": Key(((5, 11),), HeadsOff(), "the heads that are switched off: layer and head; empty for none"),
    "off_by": Key(
        "zero",
        titled({"zero": "zero", "mean": "mean"}),
        "what replaces their outputs: 0, or their mean over the reference sentences",
    ),
    "off_view": Key(
        "tokens",
        titled(
            tokens="Output",
            answer="Answer",
            measures="All heads",
            classifier="Classifier",
            search="Search",
            table="Table",
        ),
        "what is shown beside the grid: output embeddings, the answer for a [MASK], effects against a measure, a "
        "table, the classifier, or the search",
    ),
    "off_measure": Key(
        "largest",
        titled(largest="largest", words="on words", entropy="entropy", distance="distance", norm="norm"),
        "the measure of attention against which the effects of all heads are drawn",
    ),
    "features": Key(
        "mean",
        titled({"mean": "Mean of tokens", "cls": "[CLS]"}),
        "classifier and agent: the input of the linear layer, the mean over the text's tokens or the vector of [CLS]",
    ),
    "tanh": Key(False, Switch(), "whether it gets the hyperbolic tangent of each of these numbers"),
    "class_steps": Key(
        200, Integer(1, MAX_CLASS_STEPS), "steps of its training; `seed` is the seed of split, first weights and order"
    ),
    "class_rate": Key(0.003, Number(10, decimals=None), "its learning rate"),
    "class_view": Key(
        "result",
        titled(result="Result", sentence="Your sentence", wrong="What it gets wrong", seeds="Five seeds"),
        "the view of the classifier: its result, one sentence, its mistakes, or five seeds beside the baselines",
    ),
    "sentence": Key(SENTENCE, Text(MAX_SENTENCE), "the sentence that is classified"),
    "cls_head": Key(
        None,
        Integer(0, 11),
        "the head of the last layer whose attention from [CLS] is shown beside the mean over all heads",
    ),
    "agent_view": Key(
        "sentence",
        titled(
            sentence="Your report",
            result="Result",
            wrong="Mistakes",
            seeds="Five seeds",
            threshold="Ask a human",
            positions="Pool first",
        ),
        "the view of the agent: one report, the result, mistakes, five seeds, coverage and error by "
        "threshold, or a maximum over positions",
    ),
    "report": Key(REPORT, Text(MAX_SENTENCE), "the report on which it acts"),
    "confidence": Key(0.5, Number(1), "the threshold: below this probability it asks a human"),
}
