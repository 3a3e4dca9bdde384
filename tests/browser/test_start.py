"""The app is installed as a wheel alone; the very first visit is a link to a page.

`tests/browser/test_serve.py` starts it from its folder, as a server for many and below a path.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.explored import Explored
from tests.browser.server import ROOT, free_port, launch

NOT_SOURCE = (".git", ".venv*", ".*_cache", ".hypothesis", "build", "node_modules", "*.egg-info", "__pycache__")


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel, install nothing but it in a fresh environment, and return the folder of the commands there.

    The environment finds all other packages where these tests find them, so nothing is fetched.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source, environment = folder / "source", folder / "environment"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    offline = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.rglob("site-packages")
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python]
    subprocess.run([*pip, "install", *offline, "--no-build-isolation", source], check=True)
    shutil.rmtree(source)
    return python.parent


def test_an_installed_wheel_has_its_licence(commands: Path, tmp_path: Path) -> None:
    show = "from importlib.metadata import *; print(metadata('attnviz')['License-Expression']); "
    show += "print(*(file.read_text() for file in files('attnviz') if file.match('licenses/LICENSE')), end='')"
    shown = subprocess.run([commands / "python", "-c", show], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert shown.stdout == f"MIT\n{(ROOT / 'LICENSE').read_text()}"


def test_an_installed_wheel_has_all_modules_style_sheets_and_scripts(commands: Path) -> None:
    (package,) = commands.parent.rglob("site-packages/attnviz")
    kinds = ("**/*.py", "**/*.css", "components/dist/**/*.*")
    files = {path.relative_to(ROOT / "attnviz"): path for kind in kinds for path in (ROOT / "attnviz").glob(kind)}
    assert {Path("ui/styles/base.css"), Path("export/web/site.py"), Path("cli/export.py")} <= files.keys()
    installed = {path.relative_to(package): path for path in package.rglob("*.*")}
    assert files.keys() - installed.keys() == set()
    assert [name for name, path in files.items() if installed[name].read_bytes() != path.read_bytes()] == []


def test_the_command_opens_the_browser_and_the_first_visit_may_be_a_link_to_any_page(
    commands: Path, one_page: Page, tmp_path: Path
) -> None:
    page = one_page
    port = free_port()
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    display = {"DISPLAY": ":0", "BROWSER": str(browser)}
    arguments = ["start", "--port", str(port)]
    server = launch(arguments, port, program=[commands / "attnviz"], cwd=tmp_path, env=display)
    try:
        server.wait()
        with urlopen(server.url) as answer:
            assert "frame-ancestors" not in str(answer.headers), "the limits of a public link hold on one's own machine"
        page.goto(f"{server.url}/heads?text=a+first+visit")
        expect(page.get_by_role("link", name="Tokens")).to_be_visible()
        expect(page.locator(".st-key-text textarea")).to_have_value("a first visit")
        Explored(page)
        page.goto(server.url)
        expect(page.get_by_role("region", name="Sentence")).to_contain_text("“it” gives 97 % of its attention")
        page.goto("about:blank")
        assert (tmp_path / "opened").read_text() == f"http://127.0.0.1:{port}"
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0
        assert server.log_text() == f"attnviz is at http://127.0.0.1:{port} (press Ctrl-C to stop)\n"
    finally:
        server.stop()
        server.log.unlink()
