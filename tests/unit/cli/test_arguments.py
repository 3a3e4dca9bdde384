"""What the arguments of the commands mean: which texts, layers, heads, steps and settings, and what is said of them."""

from __future__ import annotations

import argparse
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attnviz.cli import classify, corpus, export, main, serve, train, wish_to_stop
from attnviz.cli.export import UsageError, read_views
from attnviz.corpus.blocks import Place, Problems
from attnviz.export.jobs import ALL, Exporter
from attnviz.links.link import read_link
from attnviz.serving.run import StartError
from attnviz.settings import SettingsError
from attnviz.sources.models import TOY_KEYS
from attnviz.trained.card import AboutFiles


def parsed(command: Any, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers(dest="command"))
    return parser.parse_args([command.__name__.rpartition(".")[2], *arguments])


def asked(*arguments: str) -> tuple[list[dict[str, Any]], list[int], list[int]]:
    return read_views(parsed(export, *arguments))


@pytest.mark.parametrize(
    ("arguments", "layers", "heads"),
    [
        ((), [], [0]), (("--layer", "0"), [0], [0]), (("--layer", "3", "--head", "0,2,3"), [3], [0, 2, 3]),
        (("--layer", "all", "--head", "all"), [ALL], [ALL]), (("--head", "99999"), [], [99999]),
    ],
)  # fmt: skip
def test_layers_and_heads_are_one_or_several_or_all(
    arguments: tuple[str, ...], layers: list[int], heads: list[int]
) -> None:
    views, *found = asked("a text", *arguments)
    assert found == [layers, heads]
    assert [(view["text"], view["source"]) for view in views] == [("a text", "pretrained")]


@pytest.mark.parametrize("wrong", ["", "-1", "1,", "1, 2", "100000", "²", "٣", "1.0", "ALL"])
def test_what_is_no_number_of_a_head_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="whole numbers from 0, such as 3 or 0,2,3, or all"):
        asked("a text", f"--head={wrong}")


LINK = "https://hall.example/?text=one+two&source=pretrained&layer=2&head=7&step=scores"


def test_options_override_a_link() -> None:
    (view,), layers, heads = asked("--link", LINK)
    assert (view["text"], view["source"], layers, heads) == ("one two", "pretrained", [2], [7])
    (view,), layers, heads = asked("other", "--link", LINK, "--layer", "0", "--head", "1,2", "--model", "x/y")
    assert (view["text"], view["model"], layers, heads) == ("other", "x/y", [0], [1, 2])
    (view,), *_ = asked("--link", LINK, "--source", "toy", "--seed", "7")
    assert (view["source"], view["seed"]) == ("toy", 7)
    bare, _ = read_link({})
    (view,), *_ = asked("--link", "https://hall.example/?text=a")
    assert view["source"] == bare["source"], "a link without a source shows what the app shows"
    (view,), layers, _ = asked("--link", "https://hall.example/transformer?text=a&block=3")
    assert (view["source"], layers) == ("toy", [3])
    assert asked("--link", "https://hall.example/transformer?text=a")[1] == []
    (view,), *_ = asked("--link", "https://hall.example/transformer/?text=a&source=pretrained", "--source", "toy")
    assert view["source"] == "toy"


def test_each_setting_of_the_toy_has_its_option() -> None:
    wanted = {
        "tokenizer": "char", "positions": "lab", "qkv": "linear", "heads": "4", "kv_heads": "2", "head_size": "12",
        "scale": "off",
        "model_width": "24", "embedding": "uniform", "std_q": "0.5", "std_k": "0.25", "std_v": "2", "mask": "causal",
        "padding": "2", "mask_value": "-1e10", "charset": "text", "cap": "1.5", "sink": "-0.5",
        "window": "3", "qk_norm": "1", "projection": "0", "projection_bias": "1", "seed": "7",
    }  # fmt: skip
    options = [f"--{name.replace('_', '-')}={value}" for name, value in wanted.items()]
    (view,), *_ = asked("a", "--source", "toy", *options)
    linked, notes = read_link({"text": "a", "source": "toy", **wanted})
    assert not notes
    assert {*wanted, "head"} == set(TOY_KEYS)
    assert {name: view[name] for name in wanted} == {name: linked[name] for name in wanted}


def test_a_file_of_texts_has_one_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "texts.txt"
    file.write_bytes("\ufeff one \n\n \ntwo words\r\nthree".encode())
    assert [view["text"] for view in asked("--texts", str(file))[0]] == ["one", "two words", "three"]
    (view,), *_ = asked("--link", LINK, "only this")
    assert view["text"] == "only this"
    for content, why in ((b"\xff\xfe", "it is not UTF-8"), (b" \n", "has 0 texts; 1 to 1000 are allowed"),
                         (b"a\n" * 1001, "has 1001 texts")):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(UsageError, match=why):
            asked("--texts", str(file))
    file.write_bytes(b"a\n" * 1000)
    assert len(asked("--texts", str(file))[0]) == 1000
    assert asked("x" * 20_000)[0]
    with pytest.raises(UsageError, match="a text has 20,001 characters; at most 20,000 are allowed"):
        asked("x" * 20_001)
    file.write_text(f"short\n{'x' * 20_001}")
    with pytest.raises(UsageError, match="20,001"):
        asked("--texts", str(file))
    for nothing in ((), ("  ",)):
        with pytest.raises(UsageError, match="a text is needed"):
            asked(*nothing)


@pytest.mark.parametrize(
    ("raw", "found"), [("b,a", ["b", "a"]), (" a , b,a,", ["a", "b"]), ("c", None), ("", None), (" , ", None)]
)
def test_chosen_formats_are_in_the_order_that_is_asked_for_and_once(raw: str, found: list[str] | None) -> None:
    if found is not None:
        assert export._choices(raw, ("a", "b"), "format") == found
        return
    with pytest.raises(UsageError, match=f"unknown format “{raw}”; choose from a, b"):
        export._choices(raw, ("a", "b"), "format")


@pytest.mark.parametrize(
    ("arguments", "site"),
    [
        (("--site", "https://hall.example/"), "https://hall.example"), (("--link", LINK), "https://hall.example"),
        (("--link", "http://hall.example:8501/?text=a"), "http://hall.example:8501"),
        (("--link", LINK, "--site", "http://localhost:1"), "http://localhost:1"), ((), ""),
        (("--link", "http://127.0.0.1:8501/?text=a"), ""),
    ],
)  # fmt: skip
def test_files_link_to_the_site_of_a_link_or_to_the_one_that_is_given(arguments: tuple[str, ...], site: str) -> None:
    assert export._site(parsed(export, *arguments)) == site


@pytest.mark.parametrize(
    ("link", "page"),
    [(None, "step"), ("https://x.example/heads?text=a", "heads"), ("https://x.example/app/heads/", "heads"),
     ("https://x.example/nonsense", "step"), ("https://x.example/transformer", "transformer")],
)  # fmt: skip
def test_a_link_leads_to_its_page_under_any_folder(link: str | None, page: str) -> None:
    start = export._page(None)
    assert export._page(link) == (start if page == "step" else page)


def test_existing_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["export", "a b", "--source", "toy", "--format", "npz,py", "--out", str(tmp_path), "--quiet"]
    (tmp_path / "toy-head0.py").write_text("mine")
    assert main(command) == 1
    assert capsys.readouterr().err == f"attnviz: {tmp_path / 'toy-head0.py'} already exists; --force overwrites\n"
    (tmp_path / "toy-head0.npz").write_text("mine")
    assert main(command) == 1
    assert "toy-head0.npz and 1 more already exist; --force overwrites" in capsys.readouterr().err


def test_files_of_many_texts_and_heads_are_numbered_so_that_they_sort() -> None:
    view, _ = read_link({"text": "a b", "source": "toy", "heads": "3"})
    stems = [job.stem for job in Exporter().jobs([view] * 100, [], [2, 0, 2])]
    assert stems[:3] == ["001-toy-head2", "001-toy-head0", "002-toy-head2"]
    assert (len(stems), stems[-1]) == (200, "100-toy-head0")
    assert [job.stem for job in Exporter().jobs([view], [], [ALL])] == [f"toy-head{head}" for head in range(3)]


def test_the_server_is_asked_for_host_and_port_and_says_why_it_can_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[tuple[str, int]] = []
    errors: list[Exception] = [StartError("The port is taken."), SettingsError("ATTNVIZ_X is no setting.")]

    def begin(host: str, port: int) -> None:
        given.append((host, port))
        if port:
            raise errors[port - 1]

    monkeypatch.setattr("attnviz.serving.run.serve", begin)
    assert [main(["serve", "--host", "0.0.0.0", "--port", str(port)]) for port in (0, 1, 2)] == [0, 1, 2]
    assert given == [("0.0.0.0", 0), ("0.0.0.0", 1), ("0.0.0.0", 2)]
    assert capsys.readouterr().err == "attnviz: The port is taken.\nattnviz: ATTNVIZ_X is no setting.\n"
    usual = parsed(serve)
    assert (usual.host, usual.port) == ("127.0.0.1", 8501)


Started = tuple[list[tuple[str, int, bool]], list[str], set[int]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Replace the server and the browser: return what is served, which addresses are opened, and ports to be taken."""
    served: list[tuple[str, int, bool]] = []
    opened: list[str] = []
    taken: set[int] = set()

    def begin(host: str, port: int, *, public: bool, on_listening: Callable[[int], None]) -> None:
        if port in taken:
            raise StartError(f"Port {port} is taken.")
        served.append((host, port, public))
        on_listening(port or 4321)

    def at_once(target: Callable[..., object], args: tuple[str, ...], **_: bool) -> SimpleNamespace:
        return SimpleNamespace(start=lambda: target(*args))

    monkeypatch.setattr("attnviz.serving.run.serve", begin)
    monkeypatch.setattr(serve.webbrowser, "open", opened.append)
    monkeypatch.setattr(serve.threading, "Thread", at_once)
    monkeypatch.setenv("DISPLAY", ":0")
    return served, opened, taken


def test_without_a_command_the_app_starts_for_this_machine_and_the_browser_opens_it(
    started: Started, capsys: pytest.CaptureFixture[str]
) -> None:
    served, opened, taken = started
    assert main([]) == 0
    assert (served, opened) == ([("127.0.0.1", 8501, False)], ["http://127.0.0.1:8501"])
    assert capsys.readouterr().out == "attnviz is at http://127.0.0.1:8501 (press Ctrl-C to stop)\n"
    taken.add(8501)
    assert main([]) == 0, "the usual port is taken: any free one"
    assert (served[1:], opened[1:]) == ([("127.0.0.1", 0, False)], ["http://127.0.0.1:4321"])
    assert main(["start", "--port", "8501"]) == 1
    assert main(["start", "--port", "8600", "--no-browser"]) == main(["--port", "8601", "--no-browser"]) == 0
    assert (served[2:], len(opened)) == ([("127.0.0.1", 8600, False), ("127.0.0.1", 8601, False)], 2)
    assert capsys.readouterr().err == "attnviz: Port 8501 is taken.\n"


def test_ctrl_c_ends_a_command_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attnviz.serving.run.serve", interrupted)
    assert main([]) == 130


def test_without_a_display_no_browser_is_opened_inside_the_terminal(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, opened, _ = started
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(serve.sys, "platform", "linux")
    assert (main([]), opened) == (0, [])
    monkeypatch.setattr(serve.sys, "platform", "darwin")
    assert (main([]), opened) == (0, ["http://127.0.0.1:8501"])


def test_the_card_of_a_classifier_names_the_command_that_makes_it() -> None:
    for arguments in (
        ("classifier",), ("agent", "--features", "cls", "--tanh", "--seed", "3"),
        ("classifier", "--features", "mean", "--steps", "7", "--learning-rate", "0.5"),
    ):  # fmt: skip
        said = classify._command(parsed(classify, *arguments, "--out", "x", "--quiet", "--force"))
        head = "python -m attnviz classify "
        assert said.startswith(head)
        again = parsed(classify, *said.removeprefix(head).split())
        first = parsed(classify, *arguments)
        assert vars(again) == vars(first)


def test_the_card_of_a_corpus_names_the_command_without_folders() -> None:
    def said(*arguments: str) -> str:
        return corpus._command(parsed(corpus, *arguments)).removeprefix("python -m attnviz corpus ")

    assert said("secret/a.txt", "b.txt", "--quiet", "--processes", "3") == "a.txt b.txt --model minilm"
    assert said("a.txt", "--batch", "31", "--pairs-every", "65", "--lines", "511", "--name", "My texts", "--licence",
                "MIT", "--quote", "secret/a.txt") == (
        "a.txt --model minilm --batch 31 --pairs-every 65 --lines 511 --name 'My texts' --licence MIT --quote a.txt"
    )  # fmt: skip


def test_what_was_left_out_of_a_corpus_is_counted_and_the_first_lines_are_named() -> None:
    problems = Problems(Counter({"too long": 1, "empty": 2000}), [(Place(1, 1234), "too long")])
    begun: Any = SimpleNamespace(problems=problems, sources=[SimpleNamespace(name=one) for one in ("a.txt", "b.txt")])
    assert corpus._report(begun) == "2,000 lines: empty\n1 line: too long\n  b.txt, line 1,234: too long\n"


def test_what_is_said_of_a_test_file() -> None:
    files = AboutFiles("test.txt", "f", 1200, 8000, 400, 3, 6000, 1, 1, "a b")
    assert train.tested(files) == (
        "test.txt: 1,200 sentences, 8,000 words, 5.00 % of them unknown; sentences that stand in the training file "
        "too: 3; baseline 75.00 %"
    )


def test_ctrl_c_is_a_wish_and_afterwards_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    for one in (signal.SIGINT, signal.SIGTERM):
        with wish_to_stop() as is_stopped:
            assert not is_stopped()
            signal.raise_signal(one)
            assert is_stopped()
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_lesson_becomes_a_site_and_what_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = {"index.html": b"one", "scenes/1.html": b"two"}
    monkeypatch.setattr("attnviz.export.web.site.build_site", lambda *_: pages.items())
    out = tmp_path / "new" / "site"
    assert main(["site", "heads", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"2 files in {out}: open index.html\n"
    assert {name: (out / name).read_bytes() for name in pages} == pages
    assert main(["site", "heads", "--out", str(out)]) == 1
    assert "index.html already exists; --force overwrites" in capsys.readouterr().err
    assert main(["site", "heads", "--out", str(out), "--force", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    (tmp_path / "no.yaml").write_text("[")
    for lesson in ("nowhere.yaml", str(tmp_path / "no.yaml")):
        assert main(["site", lesson, "--out", str(tmp_path / "other")]) == 2
        assert f"{lesson} is not a lesson" in capsys.readouterr().err
    assert main(["site", "heads", "--out", str(tmp_path / "no.yaml" / "x"), "--force"]) == 1
    assert "can't be written" in capsys.readouterr().err


def test_a_class_is_ready_only_if_every_check_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ports: list[int] = []
    monkeypatch.setattr("attnviz.ready.checks", lambda port: ports.append(port) or [])
    for passes, code, said in ((True, 0, "Ready for class."), (False, 1, "Not ready")):
        monkeypatch.setattr("attnviz.ready.print_checks", lambda _, passes=passes: passes)
        assert main(["ready"]) == code
        assert capsys.readouterr().out.startswith(said)
    assert ports == [8501, 8501]


def test_a_classifier_that_can_not_be_made_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there.safetensors"
    there.write_text("mine")
    for arguments, code, said in (
        (("--out", str(there)), 1, "already exists; --force overwrites it"),
        (("--out", str(tmp_path / "new"), "--steps", "0"), 2, "steps is 0"),
    ):
        assert main(["classify", "classifier", "--quiet", *arguments]) == code
        assert said in capsys.readouterr().err
    assert there.read_text() == "mine"
