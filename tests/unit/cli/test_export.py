"""`python -m attnviz export`: the files that were asked for, the exit code that says how it went, one line of why."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from pptx import Presentation
from pypdf import PdfReader

from attnviz import trained
from attnviz.cli import main
from attnviz.export.drawing.marks import THEMES
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.transformer import trace_transformer
from tests.scripts import FILE, run_alone

SENTENCE = "The cat sat."


def export(folder: Path, *arguments: str) -> int:
    return main(["export", *arguments, "--out", str(folder)])


def test_one_head_in_several_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "folder"
    asked = (SENTENCE, "--model", "minilm", "--layer", "3", "--head", "5", "--steps", "scores,weights")
    assert export(folder, *asked, "--format", "svg,pptx,npz", "--site", "https://hall.example/") == 0
    names = {"minilm-layer3-head5-04-scores.svg", "minilm-layer3-head5-07-weights.svg", "minilm-layer3-head5.npz",
             "minilm-layer3-head5.pptx"}  # fmt: skip
    assert {file.name for file in folder.iterdir()} == names
    assert "4 files in" in capsys.readouterr().out
    deck = Presentation(io.BytesIO((folder / "minilm-layer3-head5.pptx").read_bytes()))
    assert "source=pretrained&layer=3&head=5&step=scores" in deck.slides[0].notes_slide.notes_text_frame.text

    before = (folder / "minilm-layer3-head5.npz").read_bytes()
    assert export(folder, "Another text.", *asked[1:], "--format", "npz") == 1
    assert "minilm-layer3-head5.npz already exists; --force overwrites" in capsys.readouterr().err
    assert (folder / "minilm-layer3-head5.npz").read_bytes() == before
    assert export(folder, "Another text.", *asked[1:], "--format", "npz", "--force", "--quiet") == 0
    assert list(np.load(folder / "minilm-layer3-head5.npz")["query_tokens"])[1] == "another"


def test_sets_of_texts_and_heads_and_a_copied_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "texts.txt").write_text("one two\n\nthree four\n", encoding="utf-8")
    toy = ("--source", "toy", "--heads", "2", "--steps", "weights", "--format", "svg", "--quiet")
    assert export(tmp_path / "set", "--texts", str(tmp_path / "texts.txt"), *toy, "--head", "all") == 0
    assert sorted(file.name for file in (tmp_path / "set").iterdir()) == [
        f"{text}-toy-head{head}-07-weights.svg" for text in ("01", "02") for head in (0, 1)
    ]
    link = "https://hall.example/?text=one+two&mask=causal&head=1&heads=2&seed=7&step=scores"
    assert export(tmp_path / "link", "--link", link, "--steps", "weights", "--format", "svg", "--bare") == 0
    picture = (tmp_path / "link" / "toy-head1-07-weights.svg").read_text(encoding="utf-8")
    assert 'fill="url(#hatch)"' in picture
    assert "hall.example" not in picture  # a bare one is the picture alone
    assert export(tmp_path / "link", "--link", link, "--steps", "weights", "--format", "svg", "--force") == 0
    picture = (tmp_path / "link" / "toy-head1-07-weights.svg").read_text(encoding="utf-8")
    assert "toy, seed 7 · head 1" in picture
    assert "https://hall.example/?text=one+two&amp;head=1&amp;mask=causal&amp;seed=7&amp;step=weights" in picture
    assert capsys.readouterr().err == ""


def everything_in(folder: Path) -> str:
    """Return all that the files of a folder say, those in archives and the links of PDFs too."""
    said = []
    for file in folder.iterdir():
        data = file.read_bytes()
        said.append(data.decode("latin-1"))
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                said += [archive.read(name).decode("latin-1") for name in archive.namelist()]
        if file.suffix == ".pdf":
            pages = PdfReader(io.BytesIO(data)).pages
            said += [f"{page.extract_text()} {[one.get_object() for one in page.get('/Annots', [])]}" for page in pages]
    return "\n".join(said)


OPENED = "text=The+cat&head=1&step=scores"


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        (("The cat", "--source", "toy"), ""),
        (("--link", f"http://localhost:8501/?{OPENED}"), ""),
        (("--link", f"http://[::1]:9000/?{OPENED}"), ""),
        (("--link", f"https://hall.example/?{OPENED}"), "https://hall.example/?text=The+cat"),
        (("--link", f"http://localhost:8501/?{OPENED}", "--site", "http://localhost:8501"),
         "http://localhost:8501/?text=The+cat"),
    ],
)  # fmt: skip
def test_files_link_to_this_machine_only_if_they_are_asked_to(
    asked: tuple[str, ...], address: str, tmp_path: Path
) -> None:
    every = "pptx,pdf,svg,tikz,csv,ipynb,py,html"
    assert export(tmp_path, *asked, "--format", every, "--steps", "scores,weights", "--quiet") == 0
    said = everything_in(tmp_path)
    assert len(list(tmp_path.iterdir())) == 9
    for machine in ("localhost", "127.0.0.1", "[::1]"):
        assert (machine in said) == (machine in address), machine
    assert not address or said.count(address) >= 6  # a picture a step, notes, numbers and code


def test_a_link_to_heads_shows_the_source_of_that_page(tmp_path: Path) -> None:
    link = "https://hall.example/heads?text=one+two&layer=5&head=11"
    assert export(tmp_path, "--link", link, "--format", "html,svg", "--steps", "weights", "--quiet") == 0
    names = ["minilm-layer5-head11-07-weights.svg", "minilm-layer5-head11-heads.html"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names


def test_in_the_dark_all_but_tikz_is_dark(tmp_path: Path) -> None:
    asked = (SENTENCE, "--source", "toy", "--steps", "weights", "--format", "svg,pdf,pptx,tikz", "--quiet")
    made = {}
    for name, paper in (("light", "#FFFFFF"), ("dark", THEMES["dark"].paper)):
        folder = tmp_path / name
        assert export(folder, *asked, "--theme", name) == 0
        assert f'height="100%" fill="{paper}"' in (folder / "toy-head0-07-weights.svg").read_text(encoding="utf-8")
        assert export(folder, *asked[:-2], "svg", "--quiet", "--theme", name, "--bare", "--force") == 0
        assert f'height="100%" fill="{paper}"' in (folder / "toy-head0-07-weights.svg").read_text(encoding="utf-8")
        made[name] = folder
    assert export(tmp_path / "unsaid", *asked) == 0
    assert (tmp_path / "unsaid" / "toy-head0.tex").read_bytes() == (made["dark"] / "toy-head0.tex").read_bytes()
    ground = re.compile(rb"\.078431 \.078431 \.105882 rg\s+n 0 0 1280 720 re f")
    pages = {name: PdfReader(folder / "toy-head0.pdf").pages[0] for name, folder in made.items()}
    assert {name: bool(ground.search(page.get_contents().get_data())) for name, page in pages.items()} == {
        "light": False, "dark": True,
    }  # fmt: skip
    slide = Presentation(str(made["dark"] / "toy-head0.pptx")).slides[0]
    assert str(slide.background.fill.fore_color.rgb) == THEMES["dark"].paper[1:]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ((), 2, "a text is needed"),
        (("a", "--texts", "nowhere.txt"), 2, "not both"),
        (("--texts", "nowhere.txt"), 2, "nowhere.txt can't be read: No such file"),
        (("a", "--format", "docx"), 2, "unknown format “docx”; choose from pptx"),
        (("a", "--steps", "softmax"), 2, "unknown step “softmax”"),
        (("a", "--layer", "x"), 2, "--layer x: whole numbers from 0"),
        (("a", "--layer", "6"), 2, "layer 6 does not exist: layers go from 0 to 5"),
        (("a", "--source", "toy", "--head", "2"), 2, "head 2 does not exist: heads go from 0 to 1"),
        (("a", "--kind", "cross"), 2, "minilm has no cross attention, but encoder"),
        (("a", "--seed", "-1", "--source", "toy"), 2, "--seed -1"),
        (("--link", "https://x.example/?layer=much"), 2, "layer=much"),
        (("--link", "x"), 2, "--link takes an address"),
        (("a", "--model", "no/such/model"), 1, "neither a folder here nor a name"),
        (("word " * 200, "--source", "toy", "--format", "tikz"), 1, "TikZ takes up to 128 tokens"),
    ],
)
def test_an_error_is_reported_in_one_line(
    arguments: tuple[str, ...], code: int, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path / "out", *arguments) == code
    err = capsys.readouterr().err
    assert why in err
    assert err.count("\n") == 1
    assert not list((tmp_path / "out").glob("*"))


def test_a_folder_that_can_not_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert export(tmp_path / "file", "a b", "--source", "toy", "--format", "npz") == 1
    assert "file can't be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--heads", "4", "--kv-heads", "3"), "--heads 4 --kv-heads 3: 4 heads can't share 3 heads of keys and values"),
        (("--heads", "1", "--kv-heads", "8"), "--heads 1 --kv-heads 8: 1 head can't share 8 heads of keys and values"),
        (("--kv-heads", "3"), ": --kv-heads 3: 2 heads can't share 3 heads of keys and values"),
        (("--heads", "4", "--kv-heads", "2", "--qkv", "positions"), "--kv-heads needs --qkv linear"),
    ],
)
def test_heads_of_keys_that_cannot_be_shared_are_refused(
    asked: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path, "a b", "--source", "toy", *asked, "--format", "npz") == 2
    assert said in capsys.readouterr().err
    assert export(tmp_path, "a b", "--source", "toy", "--heads", "4", "--kv-heads", "2", "--format", "npz") == 0


TOYS_LINK = "https://hall.example/?text=a+b&source=toy&"
WHOLE_LINK = "https://hall.example/transformer?text=a+b&"


@pytest.mark.parametrize(
    ("link", "asked", "said"),
    [
        (f"{WHOLE_LINK}heads=6", ("--kv-heads", "3"),
         ": --kv-heads 3: a width of 32 can't be divided into 6 heads, so there are 4; "
         "4 heads can't share 3 heads of keys and values"),
        (f"{WHOLE_LINK}heads=4&kv_heads=2", ("--heads", "3"), "--heads 3: a width of 32 can't be divided into 3 heads"),
        (f"{WHOLE_LINK}heads=4&kv_heads=4", ("--heads", "2"),
         ": --heads 2: 2 heads can't share the link's 4 heads of keys and values (--kv-heads takes another number)"),
        (f"{TOYS_LINK}heads=4&kv_heads=2", ("--heads", "3"),
         ": --heads 3: 3 heads can't share the link's 2 heads of keys and values (--kv-heads takes another number)"),
        (f"{TOYS_LINK}heads=4&qkv=identity", ("--kv-heads", "2"), "--kv-heads needs --qkv linear"),
    ],
)  # fmt: skip
def test_a_number_of_heads_that_is_asked_for_is_never_replaced(
    link: str, asked: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path, "--link", link, *asked, "--format", "py") == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("*"))


@pytest.mark.parametrize(
    ("link", "asked", "heads", "shared"),
    [
        (f"{WHOLE_LINK}heads=6", ("--kv-heads", "4"), 4, None),
        (f"{WHOLE_LINK}heads=6", ("--kv-heads", "2"), 4, 2),
        (f"{WHOLE_LINK}heads=4&qkv=identity", ("--kv-heads", "2"), 4, 2),
        (f"{WHOLE_LINK}heads=4&kv_heads=2", ("--heads", "8"), 8, 2),
        (f"{WHOLE_LINK}heads=6&kv_heads=3", (), 4, None),
    ],
)
def test_heads_of_a_whole_model_are_fitted_to_its_width_before_they_share_keys(
    link: str, asked: tuple[str, ...], heads: int, shared: int | None, tmp_path: Path
) -> None:
    """Whatever `qkv` is, which the whole model does not have."""
    assert export(tmp_path, "--link", link, *asked, "--format", "py") == 0
    code = next(tmp_path.glob("*.py")).read_text(encoding="utf-8")
    assert f"H = {heads}" in code or f", {heads}, " in code
    assert (f"G = {shared}" in code) if shared else "G = " not in code


def test_a_setting_of_the_toy_is_not_checked_for_another_source(tmp_path: Path) -> None:
    link = "https://hall.example/?text=a+b&source=pretrained&heads=4&kv_heads=2"
    assert export(tmp_path, "--link", link, "--heads", "3", "--format", "npz") == 0


def test_as_a_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attnviz", "export", "<b>", "--source", "toy", "--format", "npz", "--out", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "toy-head0.npz").is_file()
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["export", "--no-such"])


MODEL = "https://hall.example/transformer?text=the+cat+saw&architecture=both&pair=a+dog&norm=pre&seed=3&head=1"


def test_a_link_of_a_transformer_gives_all_steps_around_an_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = f"{MODEL}&block=5"
    assert export(tmp_path, "--link", link, "--format", "svg,pptx,tikz,npz,csv", "--quiet") == 0
    stem = "toy-transformer-attention5-head1"
    pictures = sorted(file.name for file in tmp_path.glob("*.svg"))
    assert pictures[2] == f"{stem}-03-input_norm.svg"
    assert pictures[-1] == f"{stem}-19-probabilities.svg"
    deck = Presentation(io.BytesIO((tmp_path / f"{stem}.pptx").read_bytes()))
    assert len(deck.slides) == len(pictures) == 19
    notes = deck.slides[-1].notes_slide.notes_text_frame.text
    assert "https://hall.example/transformer?" in notes
    assert "block=5" in notes
    assert "part=probabilities" in notes
    trace = trace_transformer(
        WordTokenizer().tokenize("the cat saw"),
        WordTokenizer().tokenize("a dog"),
        TransformerConfig("both", norm="pre", seed=3),
    )
    with np.load(tmp_path / f"{stem}.npz") as found:
        np.testing.assert_allclose(found["logits"], trace.logits, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found["final_norm"], trace.last_hidden_state, rtol=1e-5, atol=1e-6)
        hidden = torch.relu(torch.from_numpy(found["feed_forward_norm"] @ found["W_1"] + found["b_1"]))
        np.testing.assert_allclose(found["feed_forward_hidden"], hidden, rtol=1e-4, atol=1e-5)
    assert export(tmp_path, "--link", link, "--format", "py,ipynb", "--quiet") == 0
    ran = run_alone(FILE, f"{stem}.py", cwd=tmp_path)
    assert "matrices are those that the page showed." in ran.stdout, ran.stderr
    assert "block=5" in (tmp_path / f"{stem}.ipynb").read_text(encoding="utf-8")
    with zipfile.ZipFile(tmp_path / f"{stem}.csv.zip") as archive:
        header = archive.read("logits.csv").decode("utf-8-sig").splitlines()[0]
    assert "] dog" in header


def test_a_step_that_an_attention_has_not_and_a_setting_of_another_page_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = ("--link", MODEL, "--layer", "all", "--steps", "logits", "--format", "svg", "--quiet")
    assert export(tmp_path, *every) == 1
    assert "attention0-head1, svg: This attention has none of the steps" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["toy-transformer-attention5-head1-18-logits.svg"]
    for wrong, said in (
        (("--head-size", "4"), "--head-size is not a setting of the page Transformer"),
        (("--layer", "6"), "attention 6 does not exist: attentions go from 0 to 5"),
        (("--steps", "nonsense"), "unknown step"),
    ):
        assert export(tmp_path, "--link", MODEL, *wrong) == 2
        assert said in capsys.readouterr().err


def test_a_model_that_was_trained_here_is_exported_by_its_name(tmp_path: Path) -> None:
    arguments = ["export", "qweasdqweasd", "--source", "trained", "--model", "induction", "--layer", "1", "--quiet"]
    assert main([*arguments, "--format", "npz", "--out", str(tmp_path)]) == 0
    (file,) = tmp_path.iterdir()
    assert file.name == "induction-layer1-head0.npz"
    expected = trained.load("induction").trace("qweasdqweasd").attentions(1)[0].numpy()
    np.testing.assert_allclose(np.load(file)["weights"][0], expected, rtol=0, atol=1e-6)
