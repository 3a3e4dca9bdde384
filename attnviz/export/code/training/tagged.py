"""The part of a training's script that reads a user's two files of words and tags, draws sentences, and tests."""

from __future__ import annotations

from attnviz.toy.language.config import TokenConfig
from attnviz.training.tagged.files import FILL, UNKNOWN, TaggedFiles
from attnviz.training.tagged.task import AT_ONCE, DROPPED
from attnviz.training.tasks.task import IGNORED

ABOUT = "Run it with the training file and the test file:  python this_script.py train.txt test.txt"
IMPORTS = frozenset({"import hashlib", "import re", "import sys", "from collections import Counter, defaultdict"})
READ = '''\
SHA256 = {digests}
T = {block}  # words of the longest sentence


def read(number):
    """The sentences of a file, each a list of pairs (word, tag): a pair a line, and a blank line between sentences."""
    with open(sys.argv[number], "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != SHA256[number - 1]:
        print(f"{{sys.argv[number]}} is not the file of the training that was exported: the losses will differ.")
    found = [[]]
    for line in re.split("\\r\\n|\\r|\\n", data.decode("utf-8-sig")):
        if line.strip(" \\t"):
            word, tag = re.split("[ \\t]+", line.strip(" \\t"))
            found[-1].append((word, tag))
        elif found[-1]:
            found.append([])
    return [sentence for sentence in found if sentence]


train, test = read(1), read(2)
words = sorted({{word for sentence in train for word, _ in sentence}})
tags = sorted({{tag for sentence in train for _, tag in sentence}})
ids = {{word: number for number, word in enumerate(words, {first})}}  # {fill} fills up, {unknown} is an unknown word
V = len(words) + {first}
counts = Counter(ids[word] for sentence in train for word, _ in sentence)
once = torch.tensor([counts[number] == 1 for number in range(V)])


def padded(sentences):
    """Sentences as ids and tags, (B, T) and (B, T), filled up to the longest."""
    longest = max(map(len, sentences))
    x, y = torch.full((len(sentences), longest), {fill}), torch.full((len(sentences), longest), {ignored})
    for row, sentence in enumerate(sentences):
        x[row, : len(sentence)] = torch.tensor([ids.get(word, {unknown}) for word, _ in sentence])
        y[row, : len(sentence)] = torch.tensor([tags.index(tag) for _, tag in sentence])
    return x, y


def draw(size, generator):
    """Sentences of the training file. Half of the words that stand in it once are unknown words here."""
    x, y = padded([train[row] for row in torch.randint(len(train), (size,), generator=generator).tolist()])
    return x.masked_fill(once[x] & (torch.rand(x.shape, generator=generator) < {dropped}), {unknown}), y
'''
END = """
# What it does on the test file, beside each word's most frequent tag in the training file
model.eval()
loss, right, count = 0.0, 0, 0
with torch.no_grad():
    for start in range(0, len(test), {at_once}):
        x, y = padded(sorted(test, key=len)[start : start + {at_once}])
        logits = model(x)
        loss += F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index={ignored}, reduction="sum").item()
        right += (logits.argmax(-1) == y).sum().item()
        count += (y != {ignored}).sum().item()
print(f"test file: loss {{loss / count:.6f}}, accuracy {{right / count:.4f}}")
seen = defaultdict(Counter)
for word, tag in sorted(pair for sentence in train for pair in sentence):  # of equal counts, the first tag is taken
    seen[word][tag] += 1
usual = Counter(sorted(tag for sentence in train for _, tag in sentence)).most_common(1)[0][0]
pairs = [pair for sentence in test for pair in sentence]
right = sum(tag == (seen[word].most_common(1)[0][0] if word in seen else usual) for word, tag in pairs)
print(f"baseline: accuracy {{right / count:.4f}}; unknown words: {{sum(word not in seen for word, _ in pairs)}}")
"""


def tagged_code(config: TokenConfig, files: TaggedFiles) -> str:
    """Return the code that reads files of these digests and draws batches of them."""
    return READ.format(
        digests=(files.train.sha256, files.test.sha256), block=config.block_size, fill=FILL, unknown=UNKNOWN,
        first=len(files.labels) - len(files.words), ignored=IGNORED, dropped=DROPPED,
    )  # fmt: skip


def tagged_end() -> str:
    """Return the code that tests the model."""
    return END.format(at_once=AT_ONCE, ignored=IGNORED)
