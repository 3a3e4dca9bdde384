"""The part of a training's script that reads a text, draws from it, and validates on its last part."""

from __future__ import annotations

from attnviz.training.plan import Plan
from attnviz.training.tasks.task import IGNORED
from attnviz.training.text.cut import settings_of
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART

TEXT_ABOUT = "Run it with the text as a file:  python this_script.py corpus.txt"
TEXT_END = 'print(f"validation loss {validation_loss(model):.6f}")\n'
READ = f"""\
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
    """Return the code that reads the text of this digest, draws batches of it as the plan cuts it, and validates."""
    is_cut = plan.cut != "blocks"
    size = "the longest sequence of a line, without its end" if is_cut else "block size: the longest context"
    read = READ.format(sha256=repr(sha256), block=plan.block_size, size=size)
    if not is_cut:
        return read + BLOCKS
    settings = settings_of(plan.cut, plan.block_size)
    return read + SEQUENCES.format(least=settings.least, overlap=settings.overlap, end=plan.cut == "chunks")
