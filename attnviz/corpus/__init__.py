"""What every head of a model does over many sentences: sums that add up in any order, wherever each part is computed.

    from attnviz.corpus.sentences import Reader
    from attnviz.corpus.statistics import HeadStatistics

    reader = Reader(attnviz.pretrained.load("minilm"))
    first, second = reader.read(sentences[:1000]), reader.read(sentences[1000:])
    first.merge(second)
    found = first.finish()  # found.mean["previous"][layer, head]

`python -m attnviz corpus` does it for files (`attnviz.corpus.run`), on one machine or on a cluster
(`attnviz.corpus.engines`). Nothing is imported here.

Shapes: N sentences, B of a batch, L layers, H heads, T tokens, M measures, P parts of a sentence, R relative positions.
"""

FORMAT = 2
"""Of files of statistics; another one can't be shown"""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LABELLED = ("previous", "next", "same", "first", "cls", "sep", "punctuation")
"""The measures that give a label"""
LABELS = (*LABELLED, "diagonal", "broad")
"""As `attnviz.measures.summary.holding` names them"""
