"""The part of a training's script that reads the data, draws batches from them, and evaluates on them.

The data are a text, whose last part is for validation, or a user's two files of words and tags.
"""

from __future__ import annotations

from attnviz.toy.language.config import TokenConfig
from attnviz.training.plan import Plan
from attnviz.training.tagged import task as tagged_task
from attnviz.training.tagged.files import FILL, UNKNOWN, TaggedFiles
from attnviz.training.tasks.task import IGNORED
from attnviz.training.text.cut import settings_of
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART

TEXT_ABOUT = "Run it with the text as a file:  python this_script.py corpus.txt"
TEXT_END = 'print(f"validation loss {validation_loss(model):.6f}")\n'
READ_TEXT = f"""\
SHA256 = {{sha256}}
T = {{block}}  # {{size}}

with open(sys.argv[1] if len(sys.argv) > 1 else "corpus.txt", encoding="utf-8-sig") as file:
    text = file.read()
if hashlib.sha256(text.encode()).hexdigest() != SHA256:
    print("This is not the text of the training that was exported: the losses will differ.")
characters = sorted(set(text))
V = len(characters)
ids = torch.tensor([characters.index(one) for one in text])
cut = int({TRAIN_PART} * len(ids))
train, validation = ids[:cut], ids[cut:]
"""
BLOCKS = f'''

def draw(size, generator):
    """Blocks from anywhere in the training part, and the character after each of theirs: (B, T) and (B, T)."""
    starts = torch.randint(len(train) - T, (size, 1), generator=generator)
    blocks = train[starts + torch.arange(T + 1)]
    return blocks[:, :-1], blocks[:, 1:]


def validation_loss(model):
    """The mean loss of the validation part in nats a character, in blocks without overlap."""
    model.eval()
    x, y, total = validation[:-1], validation[1:], 0.0
    with torch.no_grad():
        for start in range(0, len(x), {AT_ONCE} * T):
            part, then = x[start : start + {AT_ONCE} * T], y[start : start + {AT_ONCE} * T]
            whole = len(part) // T * T
            for one, after in ((part[:whole].view(-1, T), then[:whole]), (part[whole:][None], then[whole:])):
                if one.numel():
                    total += F.cross_entropy(model(one).flatten(0, 1), after, reduction="sum").item()
    return total / len(x)
'''
SEQUENCES = f'''LEAST, OVERLAP, END = {{least}}, {{overlap}}, {{end}}  # END: the last one of a line has its line end


def sequences(part):
    """Where the sequences of a part begin and end, (M, 2): each line is cut by itself."""
    found, begin = [], 0
    for line in part.split("\\n"):
        start, after = 0, begin + len(line)
        while start + T < len(line):
            found.append((begin + start, begin + start + T))
            start += T - OVERLAP
        if len(line) >= LEAST:
            found.append((begin + max(0, min(start, len(line) - LEAST)), after + (END and after < len(part))))
        begin = after + 1
    return torch.tensor([(start, stop) for start, stop in found if stop - start > 1])


def padded(ids, places):
    """tokens[:-1] and tokens[1:] of sequences, (B, T) and (B, T); what is beyond the end of one counts nothing."""
    starts, lengths = places[:, :1], places[:, 1:] - places[:, :1]
    steps = torch.arange(int(lengths.max()))
    rows = ids[(starts + steps).clamp(max=len(ids) - 1)]
    beyond = (steps >= lengths)[:, 1:]
    return rows[:, :-1].masked_fill(beyond, 0), rows[:, 1:].masked_fill(beyond, {IGNORED})


to_train, to_validate = sequences(text[:cut]), sequences(text[cut:])


def draw(size, generator):
    """Sequences of the training part."""
    return padded(train, to_train[torch.randint(len(to_train), (size,), generator=generator)])


def validation_loss(model):
    """The mean loss of the validation part, cut in the same way, in nats a character that is predicted."""
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for places in to_validate.split({AT_ONCE}):
            x, y = padded(validation, places)
            total += F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum").item()
            count += (y != {IGNORED}).sum().item()
    return total / count
'''


def text_code(plan: Plan, sha256: str) -> str:
    """Return the code that reads the text with this digest, draws batches as the plan cuts it, and validates."""
    is_cut = plan.cut != "blocks"
    size = "the longest sequence of a line, without its end" if is_cut else "block size: the longest context"
    read = READ_TEXT.format(sha256=repr(sha256), block=plan.block_size, size=size)
    if not is_cut:
        return read + BLOCKS
    settings = settings_of(plan.cut, plan.block_size)
    return read + SEQUENCES.format(least=settings.least, overlap=settings.overlap, end=plan.cut == "chunks")


TAGGED_ABOUT = "Run it with the training file and the test file:  python this_script.py train.txt test.txt"
TAGGED_IMPORTS = frozenset(
    {"import hashlib", "import re", "import sys", "from collections import Counter, defaultdict"}
)
READ_TAGGED = '''\
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
TAGGED_END = """
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
    """Return the code that reads the files with these digests and draws batches from them."""
    return READ_TAGGED.format(
        digests=(files.train.sha256, files.test.sha256), block=config.block_size, fill=FILL, unknown=UNKNOWN,
        first=len(files.labels) - len(files.words), ignored=IGNORED, dropped=tagged_task.DROPPED,
    )  # fmt: skip


def tagged_end() -> str:
    """Return the code that evaluates the model on the test file."""
    return TAGGED_END.format(at_once=tagged_task.AT_ONCE, ignored=IGNORED)
