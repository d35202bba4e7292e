#!/usr/bin/env python3
"""crates.py update: writes what tells of the crates that are linked into the library, the command or the Python package: their licences,
LICENSES-CRATES.txt, and the bill of materials, sbom.cdx.json, as JSON of CycloneDX 1.5. crates.py check: whether the two fit Cargo.lock.

Reads what cargo says of Cargo.lock; needs no network if the crates are there, as in the vendored archive.
"""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMBERS = "scda-archive", "scda-command", "scda-python"
OURS = *("scda", "scda-archive", "scda-base", "scda-c", "scda-codec", "scda-command", "scda-format", "scda-hdf5", "scda-libsc", "scda-meshes"), *("scda-python", "scda-ranks", "scda-storage")
FEATURES = "scda-archive/mpi,scda-archive/bundled-zlib"
PLATFORMS = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
# Libraries in C that crates carry and compile: where their version stands, and their licence.
CARRIED = {
    "libdeflate-sys": ("libdeflate", "libdeflate/libdeflate.h", r'VERSION_STRING\s+"([^"]+)"', "libdeflate/COPYING", "MIT"),
    "libz-sys": ("zlib", "src/zlib/zlib.h", r'define ZLIB_VERSION "([^"]+)"', "src/zlib/LICENSE", "Zlib"),
    "lz4-sys": ("LZ4", "liblz4/lib/lz4.h", None, "liblz4/lib/LICENSE", "BSD-2-Clause"),
    "zstd-sys": ("zstd", "zstd/lib/zstd.h", None, "zstd/LICENSE", "BSD-3-Clause"),
}


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates():
    """All crates that are linked, ours first; those that only run while others are compiled are left out."""
    found = {package["id"]: package for package in json.loads(cargo("metadata", "--locked", "--format-version=1"))["packages"]}
    named = {(package["name"], package["version"]): package for package in found.values()}
    linked = set()
    for platform in PLATFORMS:
        options = [option for member in MEMBERS for option in ("-p", member)]
        tree = cargo(
            *("tree", "--locked", "--edges", "normal,no-proc-macro", "--target", platform, *options),
            *("--no-default-features", "--features", FEATURES, "--prefix", "none", "--format", "{p}"),
        )
        for line in filter(None, tree.splitlines()):
            name, version = line.split()[:2]
            linked.add((name, version.removeprefix("v")))
    return [named[key] for key in sorted(linked, key=lambda key: (key[0] not in OURS, key))]


def folder(crate):
    return Path(crate["manifest_path"]).parent


def carried(crate):
    """The library in C that the crate carries: name, version, path of its licence, its licence by name; or None."""
    if crate["name"] not in CARRIED:
        return None
    name, header, pattern, path, licence = CARRIED[crate["name"]]
    text = (folder(crate) / header).read_text()
    if pattern:
        version = re.search(pattern, text)[1]
    else:
        version = ".".join(re.search(rf"VERSION_{part}\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR", "RELEASE"))
    return name, version, folder(crate) / path, licence


def licence_files(crate):
    """The licence that is taken where there is a choice: MIT if it is offered, since it asks for no more than its text."""
    files = [path for path in sorted(folder(crate).iterdir()) if re.match(r"(?i)(licen[cs]e|copying|notice)", path.name)]
    files = [inner for path in files for inner in (sorted(path.iterdir()) if path.is_dir() else [path])]
    mit = [path for path in files if re.search(r"(?i)mit\b", path.name)]
    choice = re.split(r" OR |/", crate["license"])
    return mit if mit and "MIT" in choice else files


MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do
so, subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS
OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def normal(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def split(text):
    """The lines of the copyright, and the rest."""
    of_it = [line.strip() for line in text.splitlines() if re.match(r"\s*Copyright (?!notice)", line)]
    rest = "\n".join(line for line in text.splitlines() if line.strip() not in of_it)
    title = re.compile(r"\A\s*(?:#+\s*)?(the )?mit licen[sc]e( \(mit\))?\s*$", re.I | re.M)
    return of_it, title.sub("", rest).strip("\n ")


def licences():
    apache = normal((ROOT / "LICENSE-APACHE").read_text())
    table, texts = [], {}

    def add(name, text):
        if normal(text).startswith("apache license") or "apache license version 2 0" in normal(text)[:80]:
            return "LICENSE-APACHE" if len(normal(text)) >= 0.9 * len(apache) else None
        of_it, rest = split(text)
        # A text of MIT that differs in nothing but its layout is shown once.
        key = normal(rest)
        entry = texts.setdefault(key if key != normal(MIT) else "mit", (rest if key != normal(MIT) else MIT, []))
        entry[1].append((name, of_it))
        return key

    for crate in crates():
        if crate["name"] in OURS:
            continue
        name = f"{crate['name']} {crate['version']}"
        table.append((name, crate["license"].replace("/", " OR ")))
        files = licence_files(crate)
        for path in files:
            add(name, path.read_text(errors="replace"))
        if not files and "MIT" in crate["license"]:
            authors = ", ".join(re.sub(r"\s*<.*?>", "", author) for author in crate["authors"])
            add(name, f"Copyright (c) {authors or 'the authors of ' + crate['name']}\n{MIT}")
        inner = carried(crate)
        if inner:
            table.append((f"  with {inner[0]} {inner[1]}, in C", inner[3]))
            add(f"{inner[0]} {inner[1]}", inner[2].read_text(errors="replace"))
    out = ["""\
The licences of what libscda, the command scda and the Python package are linked with, beside their own, MIT or Apache-2.0
(LICENSE-MIT, LICENSE-APACHE). Where there is a choice, MIT is taken. The text of Apache-2.0 is that of LICENSE-APACHE. Rust's
own library, "MIT OR Apache-2.0", is linked in, too. Made by scripts/crates.py from Cargo.lock; not every package has all of it.
"""]
    out += [f"{name:<40} {licence}" for name, licence in table]
    for text, owners in texts.values():
        out.append("\n" + "-" * 100 + "\n")
        for name, of_it in owners:
            out.append(f"{name}" + (": " + "; ".join(of_it) if of_it else ""))
        out.append("\n" + "\n".join(line.rstrip() for line in text.expandtabs().splitlines()))
    return "\n".join(out) + "\n"


def sbom():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    needs = {}
    for package in lock:
        of_name = {}
        for other in lock:
            of_name.setdefault(other["name"], []).append(other["version"])
        needs[package["name"], package["version"]] = [
            (entry.split()[0], entry.split()[1] if " " in entry else of_name[entry][0]) for entry in package.get("dependencies", [])
        ]
    linked = crates()
    keys = {(crate["name"], crate["version"]) for crate in linked}

    def purl(name, version):
        return f"pkg:cargo/{name}@{version}".replace("+", "%2B")

    def component(crate):
        key = crate["name"], crate["version"]
        made = {"type": "library", "bom-ref": purl(*key), "name": key[0], "version": key[1], "purl": purl(*key)}
        made["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
        if sums[key]:
            made["hashes"] = [{"alg": "SHA-256", "content": sums[key]}]
        if crate["repository"]:
            made["externalReferences"] = [{"type": "vcs", "url": crate["repository"]}]
        inner = carried(crate)
        if inner:
            name, version, _, licence = inner
            made["components"] = [{"type": "library", "name": name, "version": version, "licenses": [{"license": {"id": licence}}]}]
        return made

    components = [component(crate) for crate in linked]
    version = linked[0]["version"]
    top = {"type": "library", "bom-ref": "libscda", "name": "libscda", "version": version}
    top["licenses"] = [{"expression": linked[0]["license"]}]
    dependencies = [{"ref": "libscda", "dependsOn": [purl(name, version) for name in MEMBERS]}]
    for key in sorted(keys):
        dependencies.append({"ref": purl(*key), "dependsOn": [purl(*other) for other in sorted(needs[key]) if other in keys]})
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": top}}
    bill.update(components=components, dependencies=dependencies)
    # The number is that of the content: the same crates make the same bytes.
    bill["serialNumber"] = uuid.UUID(bytes=hashlib.sha256(json.dumps(bill).encode()).digest()[:16], version=4).urn
    return json.dumps(bill, indent=1) + "\n"


# The bill lies there because maturin takes none from outside of its folder.
MADE = {ROOT / "packaging/LICENSES-CRATES.txt": licences, ROOT / "python/sbom.cdx.json": sbom}


def main():
    match sys.argv[1:]:
        case ["update"]:
            for path, make in MADE.items():
                path.write_text(make())
        case ["check"]:
            for path, make in MADE.items():
                if not path.exists() or path.read_text() != make():
                    sys.exit(f"{path.relative_to(ROOT)} does not fit Cargo.lock: run scripts/crates.py update")
            print("LICENSES-CRATES.txt, sbom.cdx.json: the crates of Cargo.lock")
        case _:
            print(__doc__.strip(), file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
