"""Notebooks as Python, and changes back in their cells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warplint.project.notebook import Notebook
from warplint.source.text import SourceError

PATH = Path("nb.ipynb")


def code(source: object) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}


def markdown(source: object) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(*cells: object, metadata: object = None, **layout: object) -> bytes:
    held = {"cells": cells, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(held, **{"indent": 1, "ensure_ascii": False, **layout}).encode()  # type: ignore[arg-type]


def read(*cells: object, **layout: object) -> Notebook:
    return Notebook(notebook(*cells, **layout), PATH)


def shown(book: Notebook) -> str:
    return book.shown(book.code.text)[0].text


def test_code_cells_stand_below_each_other() -> None:
    book = read(markdown("# a"), code(["x = 1\n", "y = 2"]), code("z = 3\n"))
    assert shown(book) == "# cell 2\nx = 1\ny = 2\n# cell 3\nz = 3\n"
    assert book.shown(book.code.text)[1] == ((1, 2), (4, 3))


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("!ls\nx = 1", ["x = 1"]),
        ("%matplotlib inline\nx = 1", ["x = 1"]),
        ("if x:\n    !ls -l\ny = 1", ["if x:", "y = 1"]),
        ("files = !ls *.py\ny = 1", ["y = 1"]),
        ("a, b = %magic\ny = 1", ["y = 1"]),
        ("?print\nprint?\nprint??\ny = 1", ["y = 1"]),
        ("!pip install a \\\n  b \\\n  c\ny = 1", ["y = 1"]),
        ("%%time\ny = 1", ["y = 1"]),
        ("\n%%timeit -n 3\ny = 1", ["", "y = 1"]),
        ("%%bash\nfor f in *; do echo $f; done", []),
        ("%%writefile x.py\ny = (", []),
        ("x = '''\n%d\n!ls\n'''\ny = 1 % 2", ["x = '''", "%d", "!ls", "'''", "y = 1 % 2"]),
        ("await f()", ["await f()"]),
        ("!echo \"it's (\ny = 1", ["y = 1"]),
    ],
)
def test_what_is_ipythons_is_masked_and_python_is_not(source: str, left: list[str]) -> None:
    book = read(code(source))
    assert book.broken == []
    lines = book.code.text.split("\n")[1:]
    assert [line for line in lines if "\ue001" not in line] == left
    compile_able = book.code.text.replace("await f()", "f()")
    compile(compile_able, "nb", "exec")
    assert shown(book) == f"# cell 1\n{source}"
    assert book.encode(book.code.text) == notebook(code(source))


def test_a_cell_that_is_broken_does_not_spoil_the_others() -> None:
    book = read(code("x = (\n%d"), code("y = '''"), code("z = 1"))
    first, second = (book.code.position(span.start).line for span, _ in book.faults(book.code.text))
    assert first in (2, 3) and second == 5
    compile(book.code.text, "nb", "exec")
    assert "z = 1" in book.code.text.split("\n")
    assert shown(book) == "# cell 1\nx = (\n%d\n# cell 2\ny = '''\n# cell 3\nz = 1"


@pytest.mark.parametrize(
    "layout",
    [
        {"indent": 1},
        {"indent": None},
        {"indent": 4, "sort_keys": True},
        {"indent": "\t"},
        {"indent": None, "separators": (",", ":")},
        {"indent": 1, "ensure_ascii": True},
    ],
)
@pytest.mark.parametrize(
    "source", ["x = 1\ny = 'é'\n", ["x = 1\n", "y = 'é'\n"], ["x = 1\n", "y = 'é'"], ["x = 1\ny = 'é'"]]
)
def test_only_a_changed_cell_is_rewritten(layout: dict[str, object], source: object) -> None:
    others = markdown("é \u2028"), code(["!ls\n", "s = '\\n\"'"]), code([])
    data = notebook(code(source), *others, **layout) + b"\n"
    book = Notebook(data, PATH)
    assert book.encode(book.code.text) == data
    changed = book.encode(book.code.text.replace("x = 1", "x = 2"))
    assert changed == data.replace(b"x = 1", b"x = 2")
    longer = book.encode(book.code.text.replace("x = 1", "import a\nx = 1"))
    cells = json.loads(longer)["cells"]
    assert "".join(cells[0]["source"]) == "import a\n" + "".join(source)  # type: ignore[arg-type]
    assert cells[1:] == json.loads(data)["cells"][1:]
    assert type(cells[0]["source"]) is type(source)
    before = data.decode().partition('"source"' if "sort_keys" not in layout else "source")[0]
    assert longer.decode().startswith(before)


def test_added_lines_are_laid_out_as_the_others() -> None:
    data = notebook(code(["x = 1\n", "y = 2"]))
    book = Notebook(data, PATH)
    longer = book.encode(book.code.text.replace("x = 1", "import a\nx = 1"))
    assert longer == notebook(code(["import a\n", "x = 1\n", "y = 2"]))


def test_what_is_put_above_the_first_cell_is_in_it() -> None:
    book = read(markdown("x"), code("y = 1"))
    assert json.loads(book.encode("import a\n" + book.code.text))["cells"][1]["source"] == "import a\ny = 1"


def test_masked_lines_are_found_again_wherever_they_move() -> None:
    book = read(code("!ls\nx = 1\n%cd ..\n!ls"))
    moved = book.code.text.replace("x = 1", "import a\nx = 1\nz = 2")
    assert json.loads(book.encode(moved))["cells"][0]["source"] == "!ls\nimport a\nx = 1\nz = 2\n%cd ..\n!ls"


@pytest.mark.parametrize(
    ("metadata", "checked"),
    [
        ({"kernelspec": {"language": "python"}}, True),
        ({"kernelspec": {"name": "x"}, "language_info": {"name": "python"}}, True),
        ({}, True),
        ({"kernelspec": {"language": "julia"}}, False),
        ({"language_info": {"name": "R"}}, False),
    ],
)
def test_a_notebook_in_another_language_is_empty(metadata: object, checked: bool) -> None:
    book = read(code("x = 1"), metadata=metadata)
    assert ("x = 1" in book.code.text) is checked
    assert book.encode(book.code.text) == notebook(code("x = 1"), metadata=metadata)


@pytest.mark.parametrize(
    ("data", "said", "offset"),
    [
        (b'{"cells": [', "not valid JSON", 11),
        (b'{"caf\xc3\xa9": x}', "not valid JSON", 10),
        (b"", "not valid JSON", 0),
        (b"[]", "no cells", 0),
        (b'{"worksheets": []}', "no cells", 0),
        (b'{"cells": ["\xff"]}', "the byte 0xff is not utf-8", 12),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, said: str, offset: int) -> None:
    with pytest.raises(SourceError, match=said) as caught:
        Notebook(data, PATH)
    assert caught.value.offset == offset


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + notebook(code("x = 1"))
    book = Notebook(data, PATH)
    assert book.encode(book.code.text.replace("x = 1", "x = 2")) == data.replace(b"x = 1", b"x = 2")
