#!/usr/bin/env python3
"""modules.py: no modules of a crate, the command, the Python package, the fuzzers or benches/peers use each other in a circle, but those that
docs/design.md names; and no type of Rust has more than 35 methods.

Modules beside each other are compared, each with those inside it; a module and those inside it may use each other. What is imported is
followed to where it is defined. Tests do not count, nor does what Python imports for types alone or within a function.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def of_tree(tree):
    """The paths of a `use` of Rust, each with the name that it gets here."""
    begin, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = tree.strip().partition(" as ")
        steps = path.split("::")
        steps = steps[:-1] if steps[-1] == "self" and len(steps) > 1 else steps
        yield steps, name or steps[-1]
        return
    depth, part = 0, ""
    for letter in rest.rpartition("}")[0] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield from of_tree(begin.strip() + part.strip())
            part = ""
        else:
            part += letter


class Crate:
    """The modules of a crate: each a tuple of names."""

    def __init__(self, folder):
        self.code = {}
        for file in folder.rglob("*.rs"):
            module = file.relative_to(folder).with_suffix("").parts
            if "tests" not in module:
                text = re.sub(r"//.*", "", file.read_text())
                text = re.sub(r"#\[cfg\((?:all\()?test\b.*?\]\s*(?:[^;{]*;|[^{;]*\{.*?\n\})", "", text, flags=re.DOTALL)
                self.code[module[:-1] if module[-1] in ("mod", "lib") else module] = text
        self.names = {module: dict(self.imports(module, text)) for module, text in self.code.items()}

    def imports(self, module, text):
        for tree in re.findall(r"\buse ([^;]+);", text):
            for steps, name in of_tree(" ".join(tree.split())):
                yield name, self.absolute(module, steps)

    def absolute(self, module, steps):
        while steps and steps[0] == "super":
            module, steps = module[:-1], steps[1:]
        return tuple(steps[1:]) if steps and steps[0] == "crate" else (*module, *steps[steps[:1] == ["self"] :])

    def defining(self, path):
        """The module in which the end of a path is defined; () for another crate's."""
        seen = set()
        while True:
            seen.add(path)
            length = max(n for n in range(len(path) + 1) if path[:n] in self.code)
            module, rest = path[:length], path[length:]
            imported = self.names[module].get(rest[0]) if rest else None
            path = (*(imported or ()), *rest[1:])
            if imported is None or path in seen:  # the latter: a macro with the name of its module
                return module

    def uses(self):
        """Pairs of modules: one, and one that it uses."""
        for module, text in self.code.items():
            text = re.sub(r"\buse [^;]+;", "", text)
            paths = (self.absolute(module, path.split("::")) for path in re.findall(r"(?<![\w:])[a-z_]\w*(?:::\w+)+", text))
            for path in (*self.names[module].values(), *paths):
                yield module, self.defining(path)


def of_python(folder):
    """Pairs of modules of a package: one, and one that it imports when it is imported."""
    files = {file.stem: file for file in folder.glob("*.py")}

    def imported(body):
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                yield from [node.module] if node.module else (alias.name for alias in node.names)
            elif isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test)):
                yield from imported(node.body)

    for name, file in files.items():
        yield from (((name,), (other,)) for other in imported(ast.parse(file.read_text()).body) if other in files)


def of_c(folder):
    """Pairs of files: one, and one that defines what it uses."""
    codes = {file.stem: re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL) for file in folder.glob("*.c")}
    names = r"^(?!static\b|typedef\b)\w[\w *]*?\b(\w+)(?: \([^;{}]*\) \{|\[\] = \{)"
    defining = {name: file for file, code in codes.items() for name in re.findall(names, code, re.MULTILINE)}
    for file, code in codes.items():
        yield from (((file,), (defining[word],)) for word in set(re.findall(r"\w+", code)) if defining.get(word, file) != file)


def circles(uses):
    """Sets of modules beside each other that use each other."""
    used = defaultdict(set)
    for one, other in uses:
        both = min(len(one), len(other))
        apart = next((n for n in range(both) if one[n] != other[n]), both)
        if apart < both:
            used[one[: apart + 1]].add(other[: apart + 1])

    def reached(module):
        found, left = set(), [module]
        while left:
            new = used[left.pop()] - found
            found |= new
            left += new
        return found

    reach = {module: reached(module) for module in list(used)}
    return {frozenset(other for other in reach[module] if module in reach.get(other, ())) for module in reach if module in reach[module]}


def large_types(folder, code):
    """The types with more methods than anyone can survey, and how many each has."""
    methods = Counter()
    for module, text in code.items():
        for indent, name, body in re.findall(r"^( *)impl\b(?:<[^{]*?>)? (?![^{]* for )(\w+)[^{]*\{\n(.*?)^\1\}", text, re.MULTILINE | re.DOTALL):
            of = "/".join((folder, *module[:2], name))
            methods[of] += len(re.findall(rf"^{indent}    (?:pub(?:\([^)]*\))? )?(?:const |unsafe )*fn ", body, re.MULTILINE))
    return {of: count for of, count in methods.items() if count > 35}


def words(folder, names):
    return f"`{folder}`: {', '.join(f'`{name}`' for name in sorted(names))}"


def main():
    found, count = set(), 0
    crates = "src", *sorted(str(path.relative_to(ROOT)) for folder in ("crates", "tools") for path in ROOT.glob(f"{folder}/*/src")), "python/rust"
    for folder, uses in [
        *((folder, Crate(ROOT / folder).uses()) for folder in crates),
        ("python/src/scda", of_python(ROOT / "python/src/scda")),
        ("tests/fuzzed/targets", Crate(ROOT / "tests/fuzzed/targets").uses()),
        ("benches/peers", of_c(ROOT / "benches/peers")),
    ]:
        uses = set(uses)
        count += len({module for module, _ in uses})
        for circle in circles(uses):
            found.add(words("/".join((folder, *next(iter(circle))[:-1])), (module[-1] for module in circle)))
    large = {of: count for folder in crates for of, count in large_types(folder, Crate(ROOT / folder).code).items()}
    for of, count in large.items():
        print(f"{of} has {count} methods: more than 35")
    page = " ".join((ROOT / "docs/design.md").read_text().split())
    pairs = re.findall(r"in (`\S+?`), (`\w+`) and (`\w+`) \(", page)
    named = {f"{folder}: {one}, {other}" for folder, one, other in pairs}
    for circle in sorted(found ^ named):
        print(f"modules that use each other: {circle}:", "docs/design.md does not name them" if circle in found else "they no longer do")
    if found != named or large:
        sys.exit(1)
    print(f"{count} modules: none use each other but the {len(named)} groups that docs/design.md names")


main()
