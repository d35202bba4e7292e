#!/usr/bin/env python3
"""site.py prepare SOURCE: lays the pages of docs/SUMMARY.md, and what they link to, into SOURCE, for mdBook. site.py check SITE: whether
every link of the site, which has been made, leads to a file and to a place in it."""

import html.parser
import os
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
# What other tools make, below the site.
REFERENCES = """
- [C, every function](c/index.html), [C++](docs/cxx.md), [Fortran](docs/fortran.md),
  [Rust, every item](rust/scda/index.html), [Python](docs/python.md), [the command](docs/tools.md)
- [The guide](docs/guide.md), [a tutorial](docs/tutorial.md), [how to build and link](docs/build.md)
- [The format](docs/format.md), [what is promised](docs/promises.md), [changes](CHANGELOG.md)
"""


def prose(text):
    """The text without blocks of code."""
    return "".join(text.split("```")[::2])


def place(heading):
    """What mdBook calls the place of a heading."""
    return re.sub(r"[^\w-]", "", heading.strip().lower().replace(" ", "-"))


def prepare(source):
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    pages = [os.path.normpath(f"docs/{path}") for path in re.findall(r"\]\(([^)]+)\)", summary)]
    missing = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - {*pages, "docs/SUMMARY.md"}
    if missing:
        sys.exit(f"docs/SUMMARY.md does not name {' '.join(sorted(missing))}")
    listed = len(pages)
    for page in pages:  # which grows: other pages that these link to follow
        text = (ROOT / page).read_text()
        (source / page).parent.mkdir(parents=True, exist_ok=True)
        if page == "README.md":  # the first page: the picture and a few lines
            text = text[: text.index("\n## ")] + REFERENCES
        if lost := set(re.findall(r"\]\(#([^)]+)\)", text)) - {place(heading) for heading in re.findall(r"^#+ (.*)", text, re.M)}:
            sys.exit(f"{page}: links to #{', #'.join(sorted(lost))}: there is no such heading")
        # mdBook calls the page of a folder index.
        (source / page).write_text(re.sub(r"\]\(((?:[^)#\s]*/)?)README\.md", r"](\1index.md", text))
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose(text)):
            path = os.path.normpath(Path(page).parent / link)
            if "://" in link or path in pages or not (ROOT / path).exists():
                continue
            if path.endswith(".md"):
                pages.append(path)
            else:
                copy(path, source)
    text = re.sub(r"\]\(\.\./", "](", re.sub(r"\]\((?!\.\./)", "](docs/", summary))
    more = [f"- [{(ROOT / page).read_text().splitlines()[0].lstrip('# ')}]({page})\n" for page in pages[listed:]]
    (source / "SUMMARY.md").write_text(text + "\n# Beside them\n\n" + "".join(more))


def copy(path, source):
    """A file that a page links to, or a folder, which gets a page that lists what is in it."""
    if (ROOT / path).is_file():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, source / path)
        return
    names = sorted(entry.name for entry in (ROOT / path).iterdir() if entry.is_file())
    for name in names:
        copy(f"{path}/{name}", source)
    (source / path).mkdir(parents=True, exist_ok=True)
    rows = "".join(f'<li><a href="{name}">{name}</a></li>\n' for name in names if not name.endswith(".md"))
    (source / path / "index.html").write_text(f"<!doctype html><title>{path}</title><h1>{path}</h1><ul>\n{rows}</ul>\n")


class Page(html.parser.HTMLParser):
    """What a page links to, and the places in it."""

    def __init__(self, path):
        super().__init__()
        # rustdoc names scripts that it makes only if there is something in them.
        self.wanted = ("href",) if "rust" in path.parts else ("href", "src")
        self.links, self.places = [], set()
        self.feed(path.read_text(errors="replace"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.links += [given[name] for name in self.wanted if given.get(name)]
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}


def check(site):
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    dead, links = [], 0
    for path, page in pages.items():
        ours = path.relative_to(site).parts[0] not in ("c", "rust")
        for link in page.links:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
                continue
            file, _, place = unquote(link).partition("#")
            file = file.partition("?")[0]
            target = Path(os.path.normpath(path.parent / file)) if file else path
            target = target / "index.html" if target.is_dir() else target
            links += 1
            if not target.exists():
                dead.append(f"{path.relative_to(site)}: {link}")
            elif ours and place and target in pages and place not in pages[target].places:
                dead.append(f"{path.relative_to(site)}: {link}: there is no such place")
    print("\n".join(dead) or f"{links} links on {len(pages)} pages lead somewhere")
    sys.exit(1 if dead or links < 1000 else 0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["prepare", folder]:
            prepare(Path(folder))
        case ["check", folder]:
            check(Path(folder))
        case _:
            print(__doc__, file=sys.stderr)
            sys.exit(2)
