"""Draw the README's picture: what ``warplint show --top 12`` prints for a capture, as an SVG.

python docs/images/draw.py CAPTURE_FOLDER docs/images/show.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from warplint.commands.show import findings
from warplint.profile.store import open_profile
from warplint.project.root import find_root
from warplint.report.costs_terminal import Listing, print_costs

WIDTH, TOP = 150, 12
# A picture in a repository must not fetch fonts from elsewhere.
SVG_FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    folder, picture = Path(sys.argv[1]), Path(sys.argv[2])
    profile = open_profile(folder)
    markers, _ = findings(profile, (), find_root(Path.cwd()))
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    profile.notes.clear()
    print_costs(console, Listing(profile, (), TOP, markers))
    console.save_svg(str(picture), title=f"$ warplint show --top {TOP}", code_format=SVG_FORMAT)


if __name__ == "__main__":
    main()
