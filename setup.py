"""Builds the optional compiled kernels; everything else is in pyproject.toml."""

from setuptools import setup

setup(cffi_modules=["src/sfumato/kernels/build.py:rows", "src/sfumato/kernels/build.py:trees"])
