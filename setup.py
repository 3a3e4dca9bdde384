"""What a wheel holds. All else that is said of the package stands in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    # The files beside the package go into a wheel as attnviz/app/, laid out as here; attnviz/files.py finds them.
    packages=[*find_packages(include=["attnviz", "attnviz.*"]), "attnviz.app"],
    package_dir={"attnviz.app": "."},
    package_data={
        "attnviz": ["components/frontend/**"],
        "attnviz.app": [
            "pyproject.toml",  # from which Streamlit learns of the browser components
            "requirements.txt",
            ".streamlit/config.toml",
            "pages/*.py",
            "assets/lessons/*.yaml",
            "assets/weights/*",
        ],
    },
    include_package_data=False,
)
