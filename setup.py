"""The contents of a wheel. All other metadata of the package is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    # A wheel contains the files beside the package as attnviz/app/, in the same layout; attnviz/files.py finds them.
    packages=[*find_packages(include=["attnviz", "attnviz.*"]), "attnviz.app"],
    package_dir={"attnviz.app": "."},
    package_data={
        "attnviz": ["py.typed", "components/dist/**", "components/frontend/**/*.css", "ui/styles/*.css"],
        "attnviz.app": [
            "pyproject.toml",  # in which Streamlit finds the browser components
            "requirements.txt",
            ".streamlit/config.toml",
            "pages/*.py",
            "assets/bert/*",
            "assets/corpus/*",
            "assets/lessons/*.yaml",
            "assets/*.safetensors",
            "assets/weights/*.*",
            "assets/weights/recorded/*",
        ],
    },
    include_package_data=False,
)
