"""Statistics of a model's heads over many sentences, as sums that can be computed in parts and added in any order.

    from attnviz.corpus.sentences import Reader
    from attnviz.corpus.statistics import HeadStatistics

    reader = Reader(attnviz.pretrained.load("minilm"))
    first, second = reader.read(sentences[:1000]), reader.read(sentences[1000:])
    first.merge(second)
    statistics = first.finish()  # statistics.mean[layer, head, measure]

`python -m attnviz corpus` does this for files (`attnviz.corpus.run`), on one machine or on a cluster
(`attnviz.corpus.engines`). This module imports nothing.

Shapes: N sentences, B in a batch, L layers, H heads, T tokens, M measures, P parts of a sentence, R relative positions.
"""

FORMAT = 3
"""The format version of statistics files; files of other versions can't be shown"""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LABELLED = ("previous", "next", "same", "first", "cls", "sep", "punctuation")
"""The measures that have a label of the same name"""
LABELS = (*LABELLED, "diagonal", "broad")
"""The names of labels in `attnviz.measures.summary.holding`"""
