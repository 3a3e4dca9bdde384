"""The part of a training's script that reads a text, draws from it, and validates on its last part."""

from __future__ import annotations

from attnviz.export.code.settled import plain
from attnviz.export.code.source import Extract
from attnviz.training.plan import Plan
from attnviz.training.text.cut import sequences_of
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART, block_pairs, blocks_of, padded, result_of

TEXT_ABOUT = "Run it with the text as a file:  python this_script.py corpus.txt"
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
DRAW = {
    "blocks": '''\
def draw(size, generator):
    """Draw blocks from anywhere in the training part; the target of each character is the one after it."""
    return block_pairs(train, torch.randint(len(train) - T, (size, 1), generator=generator), T)
''',
    "lines": '''\
to_train, to_validate = (torch.tensor(list(sequences_of(part, {cut}, T))) for part in (text[:cut], text[cut:]))


def draw(size, generator):
    """Draw sequences of the training part."""
    return padded(train, to_train[torch.randint(len(to_train), (size,), generator=generator)])
''',
}
END = {"blocks": "blocks_of(validation, T)",
       "lines": f"(padded(validation, rows) for rows in to_validate.split({AT_ONCE}))"}  # fmt: skip
VALIDATE = 'print(f"validation loss {{result_of(model, {batches}).loss:.6f}}")\n'


def text_code(plan: Plan, sha256: str) -> Extract:
    """Return the code that reads the text of this digest, and draws batches of it as the plan cuts it."""
    is_cut = plan.cut != "blocks"
    size = "the longest sequence of a line, without its end" if is_cut else "block size: the longest context"
    read = READ.format(sha256=repr(sha256), block=plan.block_size, size=size)
    source = plain(result_of, *((sequences_of, padded) if is_cut else (block_pairs, blocks_of)))
    draw = DRAW["lines" if is_cut else "blocks"].replace("{cut}", f'"{plan.cut}"')
    return Extract(source.imports, f"{read}\n\n{source.text}\n\n\n{draw}")


def text_end(plan: Plan) -> str:
    """Return the code that validates."""
    return VALIDATE.format(batches=END["blocks" if plan.cut == "blocks" else "lines"])
