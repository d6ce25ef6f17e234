#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the examples of ODS descriptions as one input for girih-opt --split-input-file.

Every op must have an example in its description or say which other op's example holds one; otherwise
the script says which op has none and fails.
"""

import re
import sys
from pathlib import Path


def main(folders: list[str]) -> int:
    examples, missing = [], []
    for path in sorted(path for folder in folders for path in Path(folder).glob("*.td")):
        text = path.read_text()
        for match in re.finditer(r"^def (\w+) :.*?(?=^(?:def|class|#endif))", text, re.M | re.S):
            name, body = match.group(1), match.group(0)
            found = re.findall(r"^ *```mlir\n(.*?)^ *```$", body, re.M | re.S)
            examples += [
                (path.name, name, example)
                for example in found
                if "func" in example or "plan.host" in example
            ]
            if (
                name.endswith("Op")
                and not found
                and "The example of `" not in " ".join(body.split())
            ):
                missing.append(f"{path.name}: {name} has no example")
    print("\n// -----\n".join(f"// {file}: {name}\n{example}" for file, name, example in examples))
    print("\n".join(missing), file=sys.stderr)
    return 1 if missing or not examples else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
