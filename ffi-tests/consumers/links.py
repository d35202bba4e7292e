"""links.py FOLDER: whether every link of the pages below FOLDER leads to a file that is there."""

import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
pages = sorted(folder.rglob("*.md"))
links = 0
dead = []
for page in pages:
    prose = "".join(page.read_text().split("```")[::2])
    for link in re.findall(r"\]\(([^)]*)\)", prose):
        if "://" not in link and not link.startswith("#"):
            links += 1
            if not (page.parent / link.split("#")[0]).exists():
                dead.append(f"{page}: {link}")
print("\n".join(dead) or f"{links} links on {len(pages)} pages")
sys.exit(1 if dead or links < 30 else 0)
