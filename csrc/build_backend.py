"""The build backend: that of setuptools, which asks for nvcc only where the build will use it.

With SMEMKIT_NVCC the nvcc is named already, or is "none": nothing of CUDA is fetched. An sdist then
serves alone, because it carries the PTX of the kernels.
"""

import os
import tomllib
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ROOT = Path(__file__).resolve().parent.parent


def list_cuda():
    """The packages of CUDA for the build: those of the extra that builds in place."""
    if os.environ.get("SMEMKIT_NVCC"):
        return []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["build"]
    return [line for line in extra if line.startswith("nvidia-")]


def get_requires_for_build_wheel(config_settings=None):
    return [*build_meta.get_requires_for_build_wheel(config_settings), *list_cuda()]


def get_requires_for_build_editable(config_settings=None):
    return [*build_meta.get_requires_for_build_editable(config_settings), *list_cuda()]


def get_requires_for_build_sdist(config_settings=None):
    return [*build_meta.get_requires_for_build_sdist(config_settings), *list_cuda()]
