"""How many files of the package a reader of `compare` has to open, beside those of the kit."""

import json
import pathlib
import sys

import manycaps
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.comparison_text import answer_text

PACKAGE = pathlib.Path(manycaps.__file__).parent

# Captions of a scene by two systems and by people.
VERBS = "runs plays sits jumps swims barks sleeps eats digs walks rolls waits".split()


def write_rows(path, captions):
    rows = [{"id": verb, **captions(verb)} for verb in VERBS]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def people(verb):
    return {"references": [f"a dog {verb} on the beach", f"the brown dog {verb}", f"a dog by the sea, it {verb}"]}


def entered_files(call):
    """Files of the package, but for those of the kit, whose functions run in a call: the second one, after imports."""
    call()
    entered = set()
    sys.setprofile(lambda frame, event, argument: entered.add(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(None)
    paths = [pathlib.Path(name) for name in entered if name.startswith(str(PACKAGE))]
    return {path.relative_to(PACKAGE).as_posix() for path in paths if path.parent.name != "kit"}


def test_the_path_of_compare_is_short(tmp_path):
    references = write_rows(tmp_path / "people.jsonl", people)
    systems = [
        write_rows(tmp_path / f"{name}.jsonl", lambda verb, name=name: {"captions": [f"a dog {name}", f"it {verb}"]})
        for name in ("one", "two")
    ]

    def answer():
        return answer_text(compare(CompareOptions(systems, references=[references], distance="meteor")), full=False)

    entered = entered_files(answer)
    assert len(entered) <= 22, entered
