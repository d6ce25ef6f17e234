"""Where the compiler is."""

from __future__ import annotations

import os

from girih.errors import GirihError


def compiler_path() -> str:
    """The girih-compile program: GIRIH_COMPILE, beside the package's build, or on PATH."""
    override = os.environ.get("GIRIH_COMPILE")
    if override:
        if not os.access(override, os.X_OK):
            raise GirihError(
                f"the compiler {override} (from GIRIH_COMPILE) does not exist or is not executable"
            )
        return override
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    built = os.path.join(os.path.dirname(os.path.dirname(package)), "bin", "girih-compile")
    if os.path.exists(built):
        return built
    import shutil  # rarely

    found = shutil.which("girih-compile")
    if found is None:
        raise GirihError(
            f"girih-compile was not found at {built} nor on PATH: build it (./dev build) or set GIRIH_COMPILE"
        )
    return found
