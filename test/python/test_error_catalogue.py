# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every mistake of the catalogue is found, and reads as the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import error_catalogue
from error_catalogue import Entry

ENTRIES = list(error_catalogue.entries())


def test_every_heading_is_an_entry() -> None:
    assert len(ENTRIES) == error_catalogue.PAGE.read_text().count("\n## ") >= 60


def test_no_entry_twice() -> None:
    assert len({entry.title for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.title)
def test_the_message_is_the_catalogues(entry: Entry, tmp_path: Path) -> None:
    assert error_catalogue.message_of(entry.program, tmp_path) == entry.message
