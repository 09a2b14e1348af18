# SPDX-License-Identifier: BSD-3-Clause
"""Reads a TOML file with tomllib, or before Python 3.11 with the package toml."""
import pathlib

try:
    import tomllib as _reader
except ModuleNotFoundError:
    import toml as _reader


def load(path: pathlib.Path) -> dict:
    """Return the contents of a file. Raises ValueError with the place of a syntax error."""
    return _reader.loads(path.read_text(encoding="utf-8"))
