"""The links that are recorded: all scenes of the shipped lessons, the examples in docs/links.md, and more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGES = {
    "/": "step_by_step",
    "/heads": "heads",
    "/averages": "averages",
    "/transformer": "transformer",
    "/train": "train",
    "/bert": "bert",
    "/tokens": "tokens",
    "/compare": "compare",
    "/lessons": "lessons",
}
"""The page of each path"""

CAT = "text=the+cat+saw+the+dog+run"
LETTERS = "text=qweasdqweasd"
BIKE = "text=My+sister+bought+a+bicycle+because+she+wanted+to+ride+it+to+work."
MINILM = f"/?{CAT}&source=pretrained"
ODD = urlencode({"text": "Zoë said: 你好 👋🏽 שלום <script>alert(1)</script> e\u0301 \x00 **b** $x$"})
LONG = urlencode({"text": " ".join(f"w{number}" for number in range(90))})
TOO_LONG = urlencode({"text": "many words " * 300})
PAIR = "text=The+cat+is+hungry.&pair=It+wants+fish."

MORE = {
    "step_by_step": [
        "/",
        "/?source=toy",
        *(f"/?step={step}" for step in ("tokens", "embeddings", "qkv", "scaled", "masked", "concat", "output")),
        f"/?{LETTERS}&source=trained&model=induction&step=weights&layer=1",
        f"/?{LETTERS}&source=trained&step=tokens",
        "/?text=a+%F0%9F%99%82+b&source=trained&model=reverse&step=weights",
        "/?text=342&source=trained&model=numbers&kind=cross&step=weights",
        f"/?{LETTERS}&source=trained&model=nonsense&step=weights",
        f"/?{CAT}&step=weights&qkv=identity&positions=none",
        f"/?{CAT}&step=scores&qkv=positions&positions=random&seed=7",
        f"/?{CAT}&step=qkv&qkv=identity",
        f"/?{CAT}&step=qkv&qkv=positions&heads=1",
        f"/?{CAT}&step=scaled&scale=off&mask=causal",
        f"/?{CAT}&step=scaled&scale=0.125",
        f"/?{CAT}&step=weights&scale=sqrt_c&stretch=1&mask=causal&q=2&k=1",
        f"/?{CAT}&step=masked&mask=causal&mask_value=-1e10_before&padding=2&q=1&k=3",
        f"/?{CAT}&step=weights&mask=causal&mask_value=-1e10&padding=2&q=0&k=3",
        f"/?{CAT}&step=capped&cap=0.5&mask=causal&q=2&k=1",
        f"/?{CAT}&step=weights&cap=1.5&sink=-0.25&q=1",
        f"/?{CAT}&step=capped&cap=0&sink=1e9&window=0",
        f"/?{CAT}&step=masked&mask=causal&window=3&q=4&k=0",
        f"/?{CAT}&step=capped&positions=rotary&cap=1.5&sink=0.5&mask=causal&window=3&q=4&k=3",
        f"/?{CAT}&step=biased&positions=alibi&mask=causal&heads=3&head=2&q=4&k=1",
        f"/?{CAT}&step=biased&positions=buckets&q=2",
        f"/?{CAT}&step=masked&positions=alibi&cap=1.5&mask=causal&padding=1&mask_value=-1e10_before",
        f"/?{CAT}&step=biased",
        f"/?{CAT}&step=qkv&heads=6&kv_heads=4&qk_norm=2",
        f"/?{CAT}&step=normed&qk_norm=1&heads=4&kv_heads=2&head=3",
        f"/?{CAT}&recompute=loop&q=3&k=1",
        f"/?{CAT}&recompute=past&mask=causal&lecture=1",
        f"/?{CAT}&step=qkv&model_width=40&projection_bias=1",
        "/?model_width=7&padding=513&mask_value=-1&projection_bias=2&step=masked",
        "/?source=toy&text=Life+is+short&model_width=300&std_q=2&std_k=0&std_v=0.25&embedding=uniform&step=head_outputs",
        f"/?{CAT}&step=embeddings&positions=none",
        f"/?{CAT}&step=rotated&positions=rotary&q=2",
        f"/?{CAT}&step=rotated",
        f"/?{CAT}&step=weights&std_q=nan&std_k=1e999&std_v=-1&embedding=rand",
        f"/?{CAT}&step=head_outputs&mask=causal&heads=4&head_size=4&head=3&q=5",
        f"/?{CAT}&step=concat&heads=3&head_size=2&head=1&q=0",
        f"/?{CAT}&step=output&projection=0",
        f"/?{CAT}&step=weights&drawing=chart&mask=causal&q=1&k=0",
        f"/?{CAT}&step=qkv&drawing=chart",
        f"/?{CAT}&step=qkv&focus=query&q=1",
        f"/?{CAT}&step=scores&lecture=1&q=1&k=4",
        "/?text=To+be+or+not+to+be&tokenizer=char&step=weights",
        "/?text=To+be+%C3%A9+or+not&tokenizer=char&step=tokens",
        "/?text=h%C3%A9llo&tokenizer=char&charset=text&step=embeddings&seed=3",
        "/?tokenizer=bert&step=scores&heads=8&head_size=3&head=7",
        f"{MINILM}&step=tokens&dim=1&play=1",
        f"{MINILM}&layer=3&head=5&step=scores&q=4&k=1&why=1",
        *(f"{MINILM}&layer=3&head=5&step={step}" for step in ("embeddings", "qkv", "scores", "scaled", "masked")),
        *(f"{MINILM}&layer=3&head=5&q=1&k=2&step={step}" for step in ("weights", "head_outputs", "concat", "output")),
        f"{MINILM}&layer=5&head=11&step=weights&lecture=1",
        f"{MINILM}&layer=1&head=2&step=weights&drawing=chart&stretch=1",
        f"/?{PAIR}&source=pretrained&step=weights&layer=2",
        f"{MINILM}&layer=17&head=40&q=99&k=99&step=weights",
        f"{MINILM}&kind=cross",
        "/?source=pretrained&model=%2Fno%2Fsuch%2Ffolder&step=weights",
        "/?step=nonsense&head=x&seed=-1&scale=nan&mask=some&heads=9&unknown=1",
        "/?text=",
        "/?text=+++&step=weights&source=pretrained",
        f"/?{ODD}&step=tokens",
        f"/?{ODD}&step=weights&source=pretrained",
        f"/?{LONG}&step=weights&mask=causal",
        f"/?{LONG}&step=scores&source=pretrained&layer=1",
    ],
    "heads": [
        "/heads",
        "/heads?text=stressed&model=reverse",
        f"/heads?{CAT}&layer=2&head=3&show=lines&direction=horizontal",
        f"/heads?{CAT}&chosen=3.5_4.1_2.r&threshold=0.25&strongest=3",
        f"/heads?{CAT}&over=corpus&layer=1&head=8&corpus_view=distribution&corpus_measure=next",
        f"/heads?{CAT}&over=corpus&corpus=minilm&layer=1&head=8&corpus_view=alike",
        f"/heads?{CAT}&rollout=1&layer=5&show=heatmap",
        f"/heads?{CAT}&values=norms&special=hide&stretch=1",
        f"/heads?{CAT}&special=renormalise&sort=entropy&more=table",
        f"/heads?{CAT}&sort=punctuation&more=measures",
        f"/heads?{CAT}&label=previous-token+head&more=care",
        f"/heads?{CAT}&chosen=0.0_0.1&mean=1&q=2&k=3",
        f"/heads?{PAIR}&between=ab&layer=1&head=6",
        f"/heads?{PAIR}&between=bb&more=table",
        f"/heads?{CAT}&lecture=1",
        f"/heads?{CAT}&layer=6&head=12&chosen=9.9_1.1&q=50&k=50",
        f"/heads?{CAT}&show=x&threshold=2&strongest=-1&sort=none&more=all&values=0",
        f"/heads?{CAT}&kind=decoder",
        "/heads?model=%2Fno%2Fsuch%2Ffolder",
        "/heads?text=",
        f"/heads?{ODD}",
        f"/heads?{LONG}&layer=4&head=4",
        f"/heads?{TOO_LONG}&layer=4&head=4",
    ],
    "averages": [
        "/averages",
        f"/averages?{BIKE}&way=matrix",
        f"/averages?{CAT}&way=softmax&drawing=chart",
        f"/averages?{CAT}&way=data&positions=none",
        f"/averages?{CAT}&way=data&positions=random&seed=999999",
        f"/averages?{CAT}&way=data&positions=alibi",
        "/averages?text=To+be&tokenizer=char&way=data",
        "/averages?text=h%C3%A9llo&tokenizer=char&charset=text&way=loop",
        f"/averages?{CAT}&tokenizer=bert&way=data",
        f"/averages?{CAT}&way=data&lecture=1",
        "/averages?text=alone&way=data",
        "/averages?text=&way=matrix",
        f"/averages?{LONG}&way=softmax",
        f"/averages?{ODD}&way=data",
        "/averages?way=mean&seed=1000000&drawing=oil",
    ],
    "transformer": [
        "/transformer",
        f"/transformer?{CAT}&part=attention_residual",
        f"/transformer?{CAT}&part=attention_norm&q=1&k=2",
        f"/transformer?{CAT}&part=feed_forward_hidden&activation=gelu&bias=0",
        f"/transformer?{CAT}&part=feed_forward_hidden&activation=gelu_tanh",
        f"/transformer?{CAT}&part=feed_forward_output&depth=3&block=2&seed=5",
        f"/transformer?{CAT}&part=block_output&block=1&drawing=chart",
        f"/transformer?{CAT}&part=input_norm&norm=pre&positions=lab",
        f"/transformer?{CAT}&part=qkv&norm=pre&positions=random",
        f"/transformer?{CAT}&part=final_norm&norm=pre&block=1",
        f"/transformer?{CAT}&architecture=decoder&block=1&part=logits&q=2",
        f"/transformer?{CAT}&architecture=decoder&block=1&part=probabilities&tokenizer=bert",
        f"/transformer?{CAT}&architecture=both&block=3&part=weights&head=1&pair=die+Katze+sah",
        f"/transformer?{CAT}&architecture=both&block=3&part=qkv",
        f"/transformer?{CAT}&architecture=both&depth=3&decoder_depth=1&block=3&part=weights&head=2&q=1",
        f"/transformer?{CAT}&architecture=both&block=5&part=probabilities&norm=pre&lecture=1",
        f"/transformer?{CAT}&width=48&heads=6&part=concat",
        f"/transformer?{CAT}&architecture=both&block=2&part=weights&cap=0.5&sink=0.5&window=3&check=parameters",
        f"/transformer?{CAT}&architecture=both&block=5&part=normed&heads=4&kv_heads=2&qk_norm=1&head=3&check=parameters",
        f"/transformer?{CAT}&architecture=decoder&part=rotated&heads=6&kv_heads=3&qk_norm=2&positions=rotary",
        f"/transformer?{CAT}&width=20&heads=3&part=weights",
        f"/transformer?{CAT}&feed_forward=64&part=feed_forward_output",
        f"/transformer?{CAT}&feed_forward=1&width=16&architecture=both&part=feed_forward_hidden&check=parameters",
        f"/transformer?{CAT}&feed_forward=1e999&check=cost",
        f"/transformer?{CAT}&source=pretrained&block=5&part=feed_forward_residual",
        f"/transformer?{LETTERS}&source=trained&model=induction&block=1&part=probabilities",
        "/transformer?text=the+teacher+plans+walks&source=trained&model=tagging&part=logits",
        "/transformer?text=342&source=trained&model=numbers&block=2&part=weights&check=padding",
        f"/transformer?{CAT}&source=pretrained&part=attention_norm&head=11",
        f"/transformer?{CAT}&check=token&q=2",
        f"/transformer?{CAT}&check=norm&source=pretrained",
        f"/transformer?{CAT}&check=change&architecture=decoder&q=2",
        f"/transformer?{CAT}&check=change&architecture=both&block=4&q=1&other=dog",
        f"/transformer?{CAT}&check=norm&over_all=1&q=3",
        f"/transformer?{CAT}&check=positions&positions=none",
        f"/transformer?{CAT}&check=positions&part=rotated&positions=rotary",
        f"/transformer?{CAT}&check=positions&part=biased&positions=alibi",
        f"/transformer?{CAT}&check=padding&pads=3",
        f"/transformer?{CAT}&check=padding&source=pretrained",
        f"/transformer?{CAT}&check=dropout&dropout=0.5&draw=7&block=1",
        f"/transformer?{CAT}&check=lens&architecture=decoder&norm=pre&q=2",
        f"/transformer?{CAT}&check=lens&source=pretrained",
        f"/transformer?{CAT}&check=parameters&architecture=both",
        f"/transformer?{CAT}&check=cost",
        f"/transformer?{CAT}&check=mistake&seed=4",
        f"/transformer?{CAT}&check=mistake&mistake=width&source=pretrained",
        f"/transformer?{CAT}&check=mistake&mistake=cross&architecture=both&answer=0",
        f"/transformer?{CAT}&check=mistake&mistake=cross&lecture=1",
        "/transformer?check=mistake&mistake=none&answer=2",
        "/transformer?source=pretrained&model=%2Fno%2Fsuch%2Ffolder",
        "/transformer?block=9&head=7&part=nonsense&architecture=x&depth=13&width=4&norm=mid&activation=tanh&bias=2",
        "/transformer?text=",
        "/transformer?text=alone&architecture=decoder&block=1&part=logits",
        f"/transformer?{ODD}&architecture=decoder&block=1&part=probabilities",
        f"/transformer?{LONG}&part=feed_forward_hidden",
    ],
    "tokens": [
        "/tokens",
        f"/tokens?{BIKE}&tokenizer=char&block_size=3",
        f"/tokens?{PAIR}&tokenizer=bert",
        "/tokens?text=h%C3%A9llo+w%C3%B6rld&tokenizer=char",
        "/tokens?text=h%C3%A9llo+w%C3%B6rld&tokenizer=char&charset=text&block_size=64",
        f"/tokens?{CAT}&tokenizer=word&block_size=1",
        "/tokens?text=unbelievably+tokenization&tokenizer=bert&block_size=2",
        f"/tokens?{ODD}&tokenizer=bert",
        f"/tokens?{ODD}&tokenizer=char",
        "/tokens?text=",
        "/tokens?text=one",
        f"/tokens?{TOO_LONG}&tokenizer=bert",
        f"/tokens?{CAT}&lecture=1",
        f"/tokens?{CAT}&charset=file",
        f"/tokens?{CAT}#tokens_tab=Vocabulary",
        f"/tokens?{CAT}&tokenizer=char#tokens_tab=Vocabulary",
        f"/tokens?{CAT}&tokenizer=bert#tokens_tab=Vocabulary",
        "/tokens?tokenizer=bpe&block_size=0&charset=ascii",
    ],
    "compare": [
        "/compare",
        "/compare?source=toy&text=Life+is+short&model_width=300&std_q=2&std_k=0&std_v=0.25&embedding=uniform",
        "/compare?compare=same",
        f"/compare?{CAT}&b_head=1",
        f"/compare?{CAT}&b_text=the+cat+saw+the+bird+run&quantity=scores",
        f"/compare?{CAT}&b_mask=causal&quantity=masked&q=1&k=3",
        f"/compare?{CAT}&scale=off&b_scale=0.125&quantity=scaled&stretch=1",
        f"/compare?{CAT}&cap=0.5&sink=1&b_head=1&quantity=capped",
        f"/compare?{CAT}&positions=alibi&b_positions=buckets&quantity=biased&q=3",
        f"/compare?{CAT}&b_source=pretrained&b_layer=2&b_head=3",
        f"/compare?{LETTERS}&source=trained&model=induction&layer=1&b_layer=0",
        f"/compare?{CAT}&source=pretrained&layer=3&head=1&b_layer=4&b_head=5",
        f"/compare?{CAT}&source=pretrained&head=1&b_head=2&quantity=scores&q=0&k=0",
        f"/compare?{PAIR}&source=pretrained&b_layer=1",
        f"/compare?{CAT}&qkv=identity&heads=4&head_size=4&seed=5&b_head=3",
        "/compare?text=To+be&b_text=To+bee&tokenizer=char&charset=text&positions=none",
        f"/compare?{CAT}&source=pretrained&b_kind=decoder",
        f"/compare?{CAT}&b_model=%2Fno%2Fsuch%2Ffolder",
        f"/compare?{CAT}&source=pretrained&layer=9&b_head=30&q=70&k=1",
        f"/compare?{CAT}&quantity=output&b_mask=x&b_layer=x&b_source=other",
        f"/compare?{CAT}&b_head=1&lecture=1",
        "/compare?text=",
        f"/compare?{ODD}&source=pretrained&b_text=plain",
        f"/compare?{LONG}&b_mask=causal",
        f"/compare?{LONG}&source=pretrained&b_head=1",
    ],
    "train": [
        "/train",
        "/train?sample=hello,+hello&steps=300&batch=32&rate=0.003&seed=7&watch=decoder.0.1&q=9&k=8",
        "/train?warm_up=5&decay=cosine&optimiser=sgd&weight_decay=0.1&train_dropout=0.2&snapshot=40",
        "/train?train_layers=1&train_heads=4&train_width=16",
        "/train?train_layers=0",
        "/train?train_heads=3&train_width=16&seed=1",
        "/train?train_part=nothing&task=nothing&seed=1&sample=%C3%A9&steps=0&batch=x&rate=11&decay=x&optimiser=x&watch=encoder&snapshot=-1",
        "/train?steps=300&sample=4711",
        "/train?run=control&snapshot=250&q=7&predict=1&task=induction",
        "/train?steps=300&sample=" + "quiz" * 20,
        "/train?steps=300&watch=cross.9.9&lecture=1",
        "/train?train_part=text&rung=heads&text_view=loss&train_block=16&steps=100&batch=8&rate=0.003&sample=Anna+was+%C3%A9",
        "/train?train_part=text&rung=gpt&snapshot=500&watch=decoder.2.1&lecture=1",
        "/train?train_part=text&rung=nothing&text_view=data&train_block=0&warm_up=-1&decay=cosine&optimiser=muon&train_dropout=0.25",
        "/train?train_part=text&rung=gru&text_view=data&cut=chunks&text_from=1000&text_to=60000",
        "/train?train_part=generate&length=30",
        "/train?train_part=generate&length=25&temperature=0&cache=0&drawn=20&watch=decoder.1.2&panel=cache",
        "/train?train_part=generate&prompt=JULIET:%0A&length=12&temperature=1.5&top_k=5&top_p=0.9&seed=3&panel=seeds",
        "/train?train_part=generate&prompt=O+brave+new+world&halves=1&panel=half",
        "/train?train_part=generate&prompt=%00&length=0&temperature=nan&top_k=x&text_model=run-9&drawn=999&panel=x",
        f"/train?train_part=generate&length=9&{ODD.replace('text', 'prompt', 1)}",
        f"/train?steps=300&{ODD.replace('text', 'sample', 1)}",
    ],
    "bert": [
        "/bert",
        "/bert?model=%2Fno%2Fsuch%2Ffolder",
        f"/bert?bert_part=back&{CAT}&q=2",
        f"/bert?bert_part=back&{CAT}&back_weights=random&seed=3&back_view=one&back_scale=10&q=1",
        "/bert?bert_part=back&back_view=near&back_piece=queen&back_unit=1",
        "/bert?bert_part=back&back_view=targets",
        f"/bert?bert_part=language&{CAT}&lm_blocks=3&lm_mask=0&lm_x=embeddings&lm_block=2&seed=1&q=3&other=bird",
        f"/bert?bert_part=subsets&{CAT}&subset_heads=12&q=4",
        "/bert?bert_part=classifier",
        "/bert?bert_part=classifier&class_view=sentence&sentence=What+a+boring+mess.&cls_head=3",
        "/bert?bert_part=classifier&class_view=wrong&features=cls&tanh=1&class_steps=5&class_rate=0.01",
        "/bert?bert_part=agent&agent_view=threshold&confidence=0.7",
        "/bert?bert_part=agent&agent_view=positions&report=He+sleeps+badly+since+the+second+tablet.",
        "/bert?bert_part=search&hits=3&find=a+sick+child&lecture=1",
        "/bert?bert_part=search&find_view=tokens&hit=3",
        "/bert?bert_part=search&find_view=map",
        f"/bert?bert_part=blank&{CAT}&blank_at=2&blank_kept=3",
        f"/bert?bert_part=without&{CAT}&off=3.1_5.0&off_by=mean",
        f"/bert?bert_part=without&{CAT}&off_view=measures&off_measure=entropy",
        "/bert?bert_part=nothing&subset_heads=5&lm_blocks=0&off=9.9&confidence=2&hits=0&find_view=x&hit=999&class_rate=x",
        f"/bert?bert_part=back&{ODD}",
        "/bert?bert_part=subsets&text=",
    ],
    "lessons": [
        "/lessons",
        "/lessons#lessons_tab=Your+own",
        "/lessons#lessons_tab=All+scenes",
        "/lessons?text=Mine",
        "/lessons?lesson=heads&scene=2&text=Mine",
        "/lessons?lesson=nonsense",
        "/lessons?lesson=why&scene=99",
        "/lessons?lesson=own",
        "/lessons?scene=x",
        "/lessons?lecture=1",
        "/lessons?text=",
        f"/lessons?{ODD}",
    ],
}
"""More views of each page; what follows a # is opened there by hand"""

BARE = ["/?lesson=attention&scene=3", "/tokens?lesson=heads&scene=6", "/lessons?lesson=why&scene=4&lecture=1"]
"""Links that name a scene and say no more: they open its view, whichever page they are on"""

OPENED = {"step_by_step": {"listing": True}}
"""What a visitor has opened on a page, for all of its links: no link says so"""


def scenes() -> Iterator[str]:
    """Yield the link of each scene of the shipped lessons, as its lesson opens it."""
    paths = {page: path for path, page in PAGES.items()}
    for file in sorted((ROOT / "assets" / "lessons").glob("*.yaml")):
        for number, scene in enumerate(yaml.safe_load(file.read_text(encoding="utf-8")).get("scenes", []), 1):
            place = {"lesson": file.stem, **({"scene": number} if number > 1 else {})}
            yield f"{paths[scene['page']]}?{urlencode({**scene.get('query', {}), **place})}"


def gallery() -> Iterator[str]:
    """Yield the link of each example sentence on the page Heads."""
    examples = yaml.safe_load((ROOT / "assets" / "lessons" / "gallery.yaml").read_text(encoding="utf-8"))["examples"]
    for example in examples:
        shown = ("text", "layer", "head", "q", "k")
        yield "/heads?" + urlencode({name: example[name] for name in shown if name in example})


def documented() -> list[str]:
    """Return the examples of docs/links.md: each line of it that is a link."""
    return re.findall(r"^/\S*$", (ROOT / "docs" / "links.md").read_text(encoding="utf-8"), re.MULTILINE)


@cache
def links() -> dict[str, list[str]]:
    """Return all recorded links, each once, by the page that they are on."""
    every = [*(link for links in MORE.values() for link in links), *documented(), *scenes(), *gallery(), *BARE]
    by_page: dict[str, list[str]] = {page: [] for page in PAGES.values()}
    for link in dict.fromkeys(every):
        by_page[PAGES[urlsplit(link).path]].append(link)
    return by_page


def query(link: str) -> dict[str, str]:
    """Return the keys and values of a link."""
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))


def opened(link: str) -> dict[str, str]:
    """Return the tabs that are opened by hand, by their keys."""
    return dict(parse_qsl(urlsplit(link).fragment))
