# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What girih needs from Debian and from PyPI, and what of it this machine has.

The lists are requirements/apt.txt and requirements/pip.txt and nothing else repeats them. This module runs before
anything is installed, so it uses only the standard library and Debian's own tools.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Requirement:
    """One line of a requirements file, with the version found on this machine."""

    name: str
    operator: str  # ">=", "==" or "" (any version)
    version: str
    found: str | None  # None: not installed
    ok: bool

    @property
    def wanted(self) -> str:
        return f"{self.operator} {self.version}" if self.operator else "any"


def _lines(file: Path) -> list[tuple[str, str, str]]:
    """The (name, operator, version) of each line of a requirements file that is not a comment."""
    result = []
    for number, text in enumerate(file.read_text().splitlines(), 1):
        text = text.split("#")[0].strip()
        if not text:
            continue
        match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9.+_-]*)(?:\s*(>=|==)\s*(\S+))?", text)
        if not match:
            raise SystemExit(
                f"{file}:{number}: expected NAME, NAME >= VERSION or NAME == VERSION, "
                f"found '{text}'"
            )
        result.append((match[1], match[2] or "", match[3] or ""))
    return result


def debian_version_ok(found: str, operator: str, version: str) -> bool:
    """Whether a Debian version meets a requirement, compared as dpkg compares (epochs included)."""
    if not operator:
        return True
    relation = {">=": "ge", "==": "eq"}[operator]
    return subprocess.run(["dpkg", "--compare-versions", found, relation, version]).returncode == 0


def apt_requirements() -> list[Requirement]:
    """Every declared Debian package with what dpkg says of it."""
    wanted = _lines(ROOT / "requirements/apt.txt")
    # dpkg-query exits 1 if any name is unknown; what it knows it prints all the same.
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n"]
        + [name for name, _, _ in wanted],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    found = {}
    for line in query.stdout.splitlines():
        name, status, version = (line.split(" ") + ["", ""])[:3]
        if status == "installed":
            found[name] = version
    return [
        Requirement(
            name,
            operator,
            version,
            found.get(name),
            name in found and debian_version_ok(found[name], operator, version),
        )
        for name, operator, version in wanted
    ]


def _normalised(name: str) -> str:
    """A Python project's name as PyPI compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pip_requirements() -> list[Requirement]:
    """Every pinned Python package with the version in .venv, read from its metadata folders."""
    found = {}
    for folder in VENV.glob("lib/python3.*/site-packages/*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        found[_normalised(name)] = version
    return [
        Requirement(
            name,
            operator,
            version,
            found.get(_normalised(name)),
            _normalised(name) in found
            and (operator != "==" or found[_normalised(name)] == version),
        )
        for name, operator, version in _lines(ROOT / "requirements/pip.txt")
    ]


def apt_command(requirements: list[Requirement], sudo: bool) -> str:
    """The command line that installs the given Debian packages."""
    prefix = "sudo " if sudo else ""
    names = " ".join(requirement.name for requirement in requirements)
    return (
        f"{prefix}apt-get update && {prefix}apt-get install --yes --no-install-recommends {names}"
    )


def pip_command() -> str:
    """The command line that brings .venv to the pinned versions."""
    return f"{VENV}/bin/python -m pip install -r {ROOT}/requirements/pip.txt"


def is_root() -> bool:
    """Whether apt-get may install; asked of id(1), as a user's own shell would."""
    return subprocess.run(["id", "-u"], stdout=subprocess.PIPE, text=True).stdout.strip() == "0"


def has_apt() -> bool:
    return all(shutil.which(tool) for tool in ("dpkg-query", "dpkg", "apt-get", "apt-cache"))


def venv_is_ours() -> bool:
    """Whether .venv was made by Debian's python3: another Python's would need other wheels."""
    try:
        lines = (VENV / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return False
    return "home = /usr/bin" in lines and (VENV / "bin/python").exists()
