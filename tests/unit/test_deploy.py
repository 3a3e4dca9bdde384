"""The files for hosts: what is made of them, and that their settings are those of a public link."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from streamlit.web.server.app_discovery import discover_asgi_app

from attnviz.settings import PUBLIC, read

ROOT = Path(__file__).resolve().parents[2]
CLOUD = ROOT / "deploy" / "community_cloud"


def environment(dockerfile: str) -> dict[str, str]:
    """Return the variables that a Dockerfile's ENV lines set, the last value of each."""
    lines = re.findall(r"^ENV (.+)$", dockerfile, re.MULTILINE)
    return dict(pair.split("=", 1) for line in lines for pair in shlex.split(line))


def test_a_space_has_the_app_its_readme_and_its_settings(tmp_path: Path) -> None:
    make, space = ROOT / "deploy" / "huggingface" / "make", tmp_path / "space"
    subprocess.run([make, space], check=True, cwd=tmp_path)
    _, front, text = (space / "README.md").read_text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert about["sdk"] == "docker"
    assert len(about["short_description"]) <= 60, "longer ones are refused"
    assert text.startswith("\n# attnviz\n")
    dockerfile = (space / "Dockerfile").read_text()
    assert dockerfile.startswith((ROOT / "Dockerfile").read_text())
    variables = environment(dockerfile)
    assert int(variables["PORT"]) == about["app_port"] == 7860
    settings = read({name: value for name, value in variables.items() if name.startswith("ATTNVIZ_")})
    assert settings.frame_ancestors == ("'self'", "https://huggingface.co")
    assert settings.trusted_proxies == ("10.0.0.0/8",)
    for name in (
        "app.py",
        "pages/heads.py",
        "assets/lessons/heads.yaml",
        "attnviz/components/dist/main/main.js",
        "LICENSE",
    ):
        assert (space / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (space / "tests").exists()
    again = subprocess.run([make, space], check=False, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (1, f"deploy/huggingface/make: {space} is not empty\n")


def test_the_image_serves_the_port_that_nginx_asks_and_another_one_by_an_argument() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "\nARG PORT=8501\nENV PORT=$PORT\n" in dockerfile
    assert dockerfile.count("8501") == 3, "the port stands in ARG, and twice in the example of a command"
    assert '--port "$PORT"' in dockerfile
    assert "127.0.0.1:$PORT/healthz" in dockerfile
    assert "server app1:8501" in (ROOT / "deploy" / "nginx.conf").read_text()


def test_the_app_of_community_cloud_sets_a_public_link_before_anything_reads_the_settings() -> None:
    file = CLOUD / "streamlit_app.py"
    first, change, *others = ast.parse(file.read_text()).body[1:]
    assert ast.unparse(first) == "import os"
    assert isinstance(change, ast.AugAssign)
    settings = read(ast.literal_eval(change.value))
    assert settings.public
    assert (settings.hub, settings.folders, settings.uploads) == (PUBLIC.hub, PUBLIC.folders, PUBLIC.uploads)
    assert (settings.sessions, settings.trainings) == (60, 1)
    assert "https://*.streamlit.app" in settings.frame_ancestors
    same = {ast.unparse(line) for line in ast.parse((ROOT / "app.py").read_text()).body[1:]}
    assert {ast.unparse(line) for line in others} == same, "the rest is that of app.py"
    assert discover_asgi_app(file).is_asgi_app


def test_community_cloud_gets_the_pinned_torch_without_libraries_for_gpus() -> None:
    lines = [line for line in (CLOUD / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    (pin,) = re.findall(r"^torch==(.+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    *torches, rest = lines
    assert (CLOUD / rest.removeprefix("-r ")).resolve() == ROOT / "requirements.txt"
    for line in torches:
        found = re.fullmatch(
            r"torch @ https://download\.pytorch\.org/whl/cpu/torch-([\d.]+)%2Bcpu-cp(3\d+)-cp\2-manylinux_2_28_x86_64\.whl"
            r' ; python_version == "3\.(\d+)"',
            line,
        )
        assert found, line
        assert (found[1], found[2]) == (pin, f"3{found[3]}")


@pytest.mark.parametrize("name", ["deploy/huggingface/README.md", "deploy/community_cloud/streamlit_app.py"])
def test_what_the_docs_say_to_use_is_there(name: str) -> None:
    assert (ROOT / name).is_file()
    assert name.rpartition("/")[0] in (ROOT / "docs" / "hosting.md").read_text()
