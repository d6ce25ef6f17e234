# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what girih needs, what this machine has, and the command that brings what is missing: `./dev doctor`.

Runs before anything is installed: standard library only. Exit status 1 if anything required is missing.
"""

import ctypes
import os
import shutil
import subprocess
import sys

import dependencies as deps


def graphics_processor() -> tuple[str, bool]:
    """What the CUDA driver says of the first GPU, and whether girih would use it (compute capability 9.0)."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no CUDA driver", False
    count, device, major, minor = (ctypes.c_int() for _ in range(4))
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "a CUDA driver, but no GPU", False
    name = ctypes.create_string_buffer(128)
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDeviceGetName(name, len(name), device)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of the CUDA driver API.
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    text = f"{name.value.decode(errors='replace')}, compute capability {major.value}.{minor.value}"
    return text, major.value == 9


def print_rows(title: str, rows: list[tuple[str, str, str, bool]]) -> None:
    print(f"{title}")
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, wanted, found, ok in rows:
        print(
            f"  {name:<{widths[0]}}  {wanted:<{widths[1]}}  {found:<{widths[2]}}  "
            f"{'ok' if ok else 'MISSING'}"
        )


def requirement_rows(requirements: list[deps.Requirement]) -> list[tuple[str, str, str, bool]]:
    return [(r.name, r.wanted, r.found or "not installed", r.ok) for r in requirements]


def main() -> int:
    commands = []

    if deps.has_apt():
        apt = deps.apt_requirements()
        print_rows("Debian packages (requirements/apt.txt)", requirement_rows(apt))
        missing = [r for r in apt if not r.ok]
        if missing:
            commands.append(deps.apt_command(missing, sudo=not deps.is_root()))
    else:
        print("Debian packages (requirements/apt.txt)\n  no apt-get and dpkg here  MISSING")
        commands.append(f"cat {deps.ROOT}/requirements/apt.txt")

    python = sys.version.split()[0]
    python_ok = sys.version_info >= (3, 11)
    ours = deps.venv_is_ours()
    venv_row = (".venv", "made by /usr/bin/python3", "yes" if ours else "no", ours)
    rows = [("/usr/bin/python3", ">= 3.11", python, python_ok), venv_row]
    pip = deps.pip_requirements()
    print_rows("Python (requirements/pip.txt)", rows + requirement_rows(pip))
    if not ours:
        commands.append(f"{deps.SYSTEM_PYTHON} -m venv {deps.VENV}")
    if not all(r.ok for r in pip):
        commands.append(deps.pip_command())

    print("Build")
    for folder in ("build", "build-asan"):
        configured = (deps.ROOT / folder / "build.ninja").exists()
        print(f"  {folder:<12}{'configured' if configured else 'not configured yet'}")
    free = shutil.disk_usage(deps.ROOT).free / 2**30
    print(f"  {len(os.sched_getaffinity(0))} cores, {free:.0f} GiB of disk free")

    name, usable = graphics_processor()
    driver = "it runs there" if usable else "kernels run on the emulated Hopper device"
    print(f"GPU (optional)\n  {name}: {driver}")
    chosen = os.environ.get("GIRIH_CUDA_HOME")
    if chosen:
        print(f"GIRIH_CUDA_HOME={chosen}: ptxas is taken from there")
        ptxas = os.path.join(chosen, "bin/ptxas")
        try:
            text = subprocess.run([ptxas, "--version"], stdout=subprocess.PIPE, text=True).stdout
            print(f"  {text.strip().splitlines()[-1]}")
        except (OSError, IndexError):
            print(f"  {ptxas} does not run  MISSING")
            commands.append("unset GIRIH_CUDA_HOME")

    if commands:
        print("\nTo bring what is missing run ./dev setup as root, or:")
        for command in commands:
            print(f"    {command}")
        return 1
    if not python_ok:
        print("\n/usr/bin/python3 is too old: girih is built and tested on Debian 12")
        return 1
    print("\nEverything is in place.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
