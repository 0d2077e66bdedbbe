"""How few files a reader has to open from a call to its answer: of a module, of `compare` and of `score`."""

import json
import pathlib
import sys

import manycaps
from manycaps.comparison import CompareOptions, compare
from manycaps.comparison.comparison_text import answer_text
from manycaps.scoring import ScoreOptions, score
from tests.modules.conftest import ROOT
from tests.modules.sample_inputs import CAPTION_ROWS
from tests.modules.test_every_module import load_module

PACKAGE = pathlib.Path(manycaps.__file__).parent


def entered_files(folder, call):
    """Paths below a folder of the files whose functions run in a call."""
    entered = set()
    sys.setprofile(lambda frame, event, argument: entered.add(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(None)
    return {path.relative_to(folder).as_posix() for path in map(pathlib.Path, entered) if folder in path.parents}


def files_of_module(folder, **options):
    """The files of a module whose functions run during a compute."""
    module = load_module(folder)
    # The tokens of captions that were there before are remembered.
    new_captions = {
        name: [[f"{caption} entering, {options}" for caption in row] for row in rows]
        for name, rows in CAPTION_ROWS.items()
    }
    script = pathlib.Path(sys.modules[type(module).__module__].__file__)
    return entered_files(script.parent, lambda: module.compute(**new_captions, **options))


TRM_METEOR = ROOT / "metrics" / "trm_meteor"


def test_the_way_from_a_call_to_a_number_is_short():
    assert len(files_of_module(TRM_METEOR, p_value="exact")) <= 10
    # The corpus is left out where nothing is tested.
    untested = files_of_module(TRM_METEOR, p_value="none")
    assert len(untested) <= 9
    assert "sets_corpus.py" not in untested
    assert len(files_of_module(ROOT / "metrics" / "human_parity", distance="meteor")) <= 16


# Captions of a scene by two systems and by people.
VERBS = "runs plays sits jumps swims barks sleeps eats digs walks rolls waits".split()


def write_rows(path, captions):
    rows = [{"id": verb, **captions(verb)} for verb in VERBS]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def people(verb):
    return {"references": [f"a dog {verb} on the beach", f"the brown dog {verb}", f"a dog by the sea, it {verb}"]}


def test_the_path_of_compare_is_short(tmp_path):
    references = write_rows(tmp_path / "people.jsonl", people)
    systems = [
        write_rows(tmp_path / f"{name}.jsonl", lambda verb, name=name: {"captions": [f"a dog {name}", f"it {verb}"]})
        for name in ("one", "two")
    ]

    def answer():
        return answer_text(compare(CompareOptions(systems, references=[references], distance="meteor")), full=False)

    answer()  # imports
    entered = {name for name in entered_files(PACKAGE, answer) if not name.startswith("kit/")}
    assert len(entered) <= 22, entered


def test_the_path_of_score_is_short(tmp_path):
    """From the call in Python to the summary of a JSON Lines file, in one process, beside the files of the metric."""
    lines = write_rows(tmp_path / "rows.jsonl", lambda verb: {**people(verb), "predictions": ["a dog", f"it {verb}"]})
    options = [
        ScoreOptions({"trm_meteor": {"p_value": "exact"}}, [lines], tmp_path / name, processes=1)
        for name in ("imports", "counted")
    ]
    score(options[0])
    entered = entered_files(PACKAGE, lambda: score(options[1]))
    entered -= {f"kit/{name}" for name in files_of_module(TRM_METEOR, p_value="exact")}
    assert "scoring/score.py" in entered
    assert len(entered) <= 16, sorted(entered)
