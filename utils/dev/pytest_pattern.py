# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pytest plugin: selects tests as `./dev test PATTERN` does for the other runners.

pytest's own -k knows words and operators, not regular expressions, and would read a file name's dots and slashes
its own way.
"""

import re


def pytest_addoption(parser):
    parser.addoption("--girih-pattern", default="", help="regular expression that test ids match")


def pytest_collection_modifyitems(config, items):
    pattern = re.compile(config.getoption("--girih-pattern"), re.IGNORECASE)
    deselected = [item for item in items if not pattern.search(item.nodeid)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if pattern.search(item.nodeid)]
