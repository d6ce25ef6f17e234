# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs what girih is built and tested with: `./dev setup`.

Debian packages through apt-get, then a virtual environment of Debian's python3 in .venv with the pinned Python
packages. Only what is missing is installed. Where it cannot go on (not root, no network, a package that apt does not
know) it stops with the command that the user has to run, and exit status 1.
"""

import os
import shutil
import subprocess
import sys

import dependencies as deps


def say(text: str) -> None:
    print(f"dev: {text}", file=sys.stderr, flush=True)


def stop(problem: str, command: str, then: str = "Then start ./dev again.") -> None:
    """Ends the set-up with what is wrong and what the user must run."""
    say(problem)
    print(f"Run:\n\n    {command}\n\n{then}", file=sys.stderr, flush=True)
    raise SystemExit(1)


def run(command: list[str], **environment: str) -> int:
    """Runs a long step with its own progress on the user's terminal; stdout is kept for results."""
    return subprocess.run(command, env={**os.environ, **environment}, stdout=sys.stderr).returncode


def candidate_ok(requirement: deps.Requirement) -> bool:
    """Whether apt's lists hold a version of the package that is new enough."""
    policy = subprocess.run(
        ["apt-cache", "policy", requirement.name], stdout=subprocess.PIPE, text=True
    ).stdout
    for line in policy.splitlines():
        name, _, version = line.strip().partition(": ")
        if name == "Candidate":
            return version != "(none)" and deps.debian_version_ok(
                version, requirement.operator, requirement.version
            )
    return False


def install_debian_packages() -> None:
    if not deps.has_apt():
        stop(
            "this is not a Debian system (no apt-get and dpkg); girih is built and tested on Debian 12",
            f"cat {deps.ROOT}/requirements/apt.txt",
            "for the packages that it needs.",
        )
    missing = [requirement for requirement in deps.apt_requirements() if not requirement.ok]
    if not missing:
        return
    names = ", ".join(
        f"{r.name} {r.wanted} (found {r.found})" if r.found else r.name for r in missing
    )
    if not deps.is_root():
        stop(
            f"Debian packages are missing: {names}. Installing them needs root",
            deps.apt_command(missing, sudo=True),
        )
    say(f"installing {len(missing)} Debian packages: {names}")
    # Without a network apt-get retries for minutes by default; a user wants to know now.
    patience = ["-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30"]
    patience += ["-o", "Acquire::Retries=1", "-o", "DPkg::Lock::Timeout=600"]
    # A third-party source that fails must not stop us: what counts is whether our packages can be had.
    run(["apt-get", *patience, "update"])
    unknown = [requirement for requirement in missing if not candidate_ok(requirement)]
    if unknown:
        wanted = ", ".join(f"{r.name} {r.operator} {r.version}".strip() for r in unknown)
        stop(
            f"apt has no candidate for {wanted}. Either apt-get update above could not reach its servers (no network?), "
            "or the sources lack a suite: LLVM 22 comes with Debian 12's security suite, bookworm-security, "
            "component main",
            f"apt-get update && apt-cache policy {unknown[0].name}",
            f"When it shows a candidate, start ./dev again, or run:\n\n    {deps.apt_command(missing, sudo=False)}",
        )
    status = run(
        ["apt-get", *patience, "install", "--yes", "--no-install-recommends"]
        + [requirement.name for requirement in missing],
        DEBIAN_FRONTEND="noninteractive",
    )
    if status != 0:
        stop(
            f"apt-get install failed with exit status {status}; its messages are above. Without a network it cannot "
            "download",
            deps.apt_command(missing, sudo=False),
        )


def make_virtual_environment() -> None:
    if not deps.venv_is_ours():
        if deps.VENV.exists():
            say(".venv was not made by /usr/bin/python3 (or is damaged): making it anew")
            shutil.rmtree(deps.VENV)
        say("making .venv")
        command = [deps.SYSTEM_PYTHON, "-m", "venv", str(deps.VENV)]
        if run(command) != 0:
            stop("could not make the virtual environment; the message is above", " ".join(command))


def install_python_packages() -> None:
    missing = [requirement for requirement in deps.pip_requirements() if not requirement.ok]
    if not missing:
        return
    say(f"installing {len(missing)} Python packages into .venv")
    command = [f"{deps.VENV}/bin/python", "-m", "pip", "install", "--disable-pip-version-check"]
    if run([*command, "-r", str(deps.ROOT / "requirements/pip.txt")]) != 0:
        stop(
            "pip could not install the Python packages; its messages are above. Without a network it cannot download",
            deps.pip_command(),
        )
    left = [r for r in deps.pip_requirements() if not r.ok]
    if left:
        raise SystemExit(
            "dev: pip succeeded, but .venv still lacks "
            + ", ".join(f"{r.name} {r.wanted} (found {r.found})" for r in left)
            + ": remove .venv and start ./dev again"
        )


def main() -> None:
    install_debian_packages()
    if sys.version_info < (3, 11):  # noqa: UP036 (this program runs before the version is known)
        stop(
            f"/usr/bin/python3 is {sys.version.split()[0]}; girih needs 3.11 or newer",
            "cat /etc/debian_version",
            "girih is built and tested on Debian 12.",
        )
    make_virtual_environment()
    install_python_packages()


if __name__ == "__main__":
    main()
