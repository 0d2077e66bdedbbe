"""The frame of all commands: where output goes, how it ends, and what is imported for --help."""

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
import unicodedata

import pytest
from tqdm import tqdm

import manycaps
from manycaps.catalog import machine_checks
from manycaps.catalog.installed_modules import NO_LINKS, module_folders
from manycaps.commands import command_line
from manycaps.commands.command_line import COMMANDS, EXTRAS, main
from manycaps.kit.clip_checkpoints import VARIANTS
from manycaps.kit.errors import InputError, InputImportError, InputLookupError, quote_path
from tests.tools import ROOT, run_without_packages

pytestmark = pytest.mark.usefixtures("undrawn_plots")

# What a command cannot do without on its command line.
REQUIRED = {
    "coco-eval": ["annotations.json", "results.json"],
    "compare": ["a.jsonl", "b.jsonl"],
    "convert-checkpoint": ["clip.pth", "folder"],
    "core-set": ["train.jsonl", "--test", "test.jsonl"],
    "count-document-frequency": ["captions.jsonl"],
    "count-ngrams": ["captions.jsonl"],
    "count-token-frequency": ["captions.jsonl"],
    "decoding": ["a.jsonl", "b.jsonl", "-r", "references.jsonl"],
    "diversity": ["captions.jsonl"],
    "judge": ["scores.jsonl", "-r", "references.jsonl"],
    "plan": ["pilot.jsonl"],
    "push": ["trm_meteor", "--org", "me", "--dry-run"],
    "rows": ["captions.jsonl"],
    "human-correlation": ["--benchmark", "composite", "--metric", "pac_score"],
    "make-positives": ["data", "output"],
    "splits": ["captions.jsonl", "--by", "length"],
    "sample": ["model", "photos", "-o", "samples.jsonl"],
    "score": ["-m", "trm_meteor", "-i", "rows.jsonl", "-o", "scores"],
    "train-pac": ["data", "output"],
}

# Commands that work without a package.
BARE = {"doctor", "export", "list"}

# The start of a program that runs a command line.
PROGRAM = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from manycaps.commands.command_line import main\n"


# Mistaken command lines, and all that are run where there are no packages.
MISTAKEN = [(), ("no-such-command",), ("list", "--no-such-option"), ("train-pac",)]
LINES = [*((name, "--help") for name in COMMANDS), *((name, *REQUIRED.get(name, [])) for name in sorted(COMMANDS))]
LINES += [*MISTAKEN, ("list", "-f", "json"), ("--version",)]
RUN_LINES = """
import contextlib, io, json
class Kept(io.StringIO):
    encoding = "utf-8"
ended = []
for line in json.loads(sys.stdin.read()):
    printed = [Kept() for _ in "oe"]
    with contextlib.redirect_stdout(printed[0]), contextlib.redirect_stderr(printed[1]):
        try:
            status = main(line)
        except SystemExit as end:
            status = end.code
    ended.append([status, *(stream.getvalue() for stream in printed)])
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def without_packages():
    """How each of the lines ends, all in one process without packages: its status, output and errors."""
    done = run_without_packages("-c", PROGRAM + RUN_LINES, given=json.dumps(LINES))
    return dict(zip(LINES, map(tuple, json.loads(done.stdout)), strict=True))


def run_program(*arguments, before="", **variables):
    """Run a command line in a process of its own."""
    program = f"{PROGRAM}{before}sys.exit(main({list(arguments)!r}))"
    environment = os.environ | variables
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)


@pytest.fixture
def fail_with(monkeypatch, capsys):
    """Let `manycaps doctor` raise an error, and return its status and what it printed as an error."""
    doctor = importlib.import_module("manycaps.commands.doctor")

    def run_failing(error, *arguments):
        def run(_):
            raise error

        monkeypatch.setattr(doctor, "run", run)
        status = main([*(arguments or ["doctor"])])
        printed = capsys.readouterr()
        assert printed.out == ""
        return status, printed.err

    return run_failing


@pytest.mark.parametrize("name", COMMANDS)
def test_help_needs_no_package_and_shows_how_the_command_is_called(name, without_packages):
    status, out, err = without_packages[name, "--help"]
    assert (status, err) == (0, "")
    assert f"\nmanycaps {name}" in out


@pytest.mark.parametrize("line", MISTAKEN)
def test_a_mistaken_command_line_ends_with_2(line, without_packages):
    status, out, err = without_packages[line]
    assert (status, out) == (2, "")
    assert err.startswith("usage: manycaps")


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - BARE))
def test_a_missing_package_is_one_line_with_its_extra(name, without_packages):
    status, out, err = without_packages[(name, *REQUIRED.get(name, []))]
    assert (status, out) == (1, "")
    line = re.fullmatch(r"(\w+): expected this package, got none\. Run `pip install (.+)`\.\n", err)
    package, installed = line.groups()
    extra = command_line.COMMAND_EXTRAS.get(name) or EXTRAS.get(package)
    assert installed == (f"'manycaps[{extra}]'" if extra else "manycaps")


def test_the_extras_of_the_packages_are_those_of_the_package():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = dict(re.findall(r"^(\w+) = \[(.*?)\]\n(?=\w|#|\n)", text, re.MULTILINE | re.DOTALL))
    names = {
        "PIL": "pillow",
        "open_clip": "open_clip_torch",
        "ray": "ray[data]",
        "sentence_transformers": "sentence-transformers",
        "yaml": "pyyaml",
    }
    for package, extra in EXTRAS.items():
        assert f'"{names.get(package, package)}>=' in lists[extra] or f'"{package}==' in lists[extra], package


def test_the_command_needs_no_package_for_the_list(without_packages):
    status, out, _ = without_packages["list", "-f", "json"]
    listed = {module["name"]: module for module in json.loads(out)}
    assert status == 0
    assert listed["trm_meteor"]["advice"] == "pip install manycaps"
    assert "open_clip_torch" in listed["pac_score"]["missing"]
    assert listed["pac_score"]["advice"] == "pip install 'manycaps[clip]'"
    assert without_packages["--version",][1] == f"manycaps {manycaps.__version__}\n"


def test_the_list_for_people_names_everything(capsys):
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for name in module_folders():
        assert f"{name}  (" in printed
    assert "config_name: default, references" in printed
    assert printed.count("variant: pac-vit-b-32, ") == 6


NO_DATA = InputImportError("METEOR 1.5", "its data", "none", "Run `pip install pycocoevalcap`, which has them.")
AS_TEXT = (
    "a.py: expected Python code, got the text of a symbolic link. Run `pip install .` in the clone, or switch links on "
    "(`git config core.symlinks true`) and check the files out again."
)
INTERNAL = r"doctor: Internal error: {} \(.*\)\. Please report it with --traceback\."


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        # What a user can mend.
        (InputError("captions[0]", "a", "b"), 1, r"captions\[0\]: expected a, got b\."),
        (InputError("--rows", "1 or more", "0"), 2, r"--rows: expected 1 or more, got 0\."),
        (InputLookupError("METEOR", "WordNet 3.0", "none"), 1, r"METEOR: expected WordNet 3\.0, got none\."),
        (KeyboardInterrupt(), 130, r"manycaps doctor: stopped by ctrl-C\."),
        # An error that knows its remedy gets no other.
        (NO_DATA, 1, re.escape(str(NO_DATA))),
        (InputImportError("a.py", *NO_LINKS), 1, re.escape(AS_TEXT)),
        # Of a function or a module that a user gave.
        (ValueError("a: expected b, got c."), 1, r"doctor: a: expected b, got c\.\. Run it with --traceback to see .*"),
        # A mistake of the program.
        (TypeError("f() takes none"), 1, INTERNAL.format("TypeError")),
        (RuntimeError("a\nb"), 1, INTERNAL.format("RuntimeError")),
        # What the machine lacks.
        (FileNotFoundError(2, "No such file", "a.json"), 1, r"'a\.json': expected files that can be read.*"),
        (OSError(28, "No space left"), 1, "doctor: expected files that can be read and written, got No space.*"),
        (MemoryError(), 1, r"doctor: expected enough memory, got too little\..*"),
        (RuntimeError("CUDA out of memory. Tried to"), 1, r"doctor: expected enough memory, got too little\..*"),
    ],
)
def test_every_error_is_one_line(fail_with, error, status, line):
    found, printed = fail_with(error)
    assert found == status
    assert re.fullmatch(f"{line}\n", printed), printed


def test_a_full_disk_behind_the_output_is_one_line():
    program = f"{PROGRAM}sys.exit(main(['list', '-f', 'json']))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True)
    line = "list: expected files that can be read and written, got No space left on device. Check paths and disk.\n"
    assert (done.returncode, done.stderr) == (1, line)


@pytest.mark.parametrize("arguments", [["--traceback", "doctor"], ["doctor", "--traceback"]])
def test_a_traceback_is_shown_on_request(fail_with, arguments):
    status, printed = fail_with(ValueError("expected a, got b."), *arguments)
    assert status == 1
    assert printed.startswith("Traceback")


# Where output goes: a terminal that obeys what it is sent, an encoding without some characters, nowhere.

# Colours, cleared screens, titles, 8-bit escapes, deletions, and text that is shown in another order; a false line.
HOSTILE = "\x1b[31m\x1b[2J\x1b]0;title\x07\x9b1A\x7f\r\u202e\u2067\u061c"
FALSE_LINE = "\nfalse: p = 1"


@pytest.fixture
def hostile_files(tmp_path, monkeypatch):
    """Two files of captions whose ids and captions are hostile, in the working folder; returns a hostile name."""
    people = [["a dog", "two dogs run", "a cat"], ["a man cooks", "pancakes", "a stove"]] * 10
    for name in ("mine", "people"):
        start = HOSTILE if name == "mine" else ""
        rows = [
            {"id": f"{FALSE_LINE}{i}{HOSTILE}", "captions": [f"{start}{FALSE_LINE} {text}" for text in row]}
            for i, row in enumerate(people)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return f"out{HOSTILE}"


@pytest.mark.parametrize(
    ("line", "status", "shown"),
    [
        (
            "compare mine.jsonl -r people.jsonl --distance meteor -m bleu_rouge --full -o NAME",
            0,
            ': "\\x1b[31m\\x1b[2J',
        ),
        ("compare mine.jsonl -r people.jsonl --distance meteor -m bleu_rouge -f json -o NAME", 0, "\\u001b[31m"),
        ("rows mine.jsonl -o NAME", 0, "wrote out\\x1b[31m"),
        ("splits mine.jsonl --by length -o NAME", 0, "20 rows: out\\x1b[31m"),
        ("core-set mine.jsonl --test people.jsonl -o NAME", 0, "20 rows: out\\x1b[31m"),
        ("count-document-frequency mine.jsonl --column captions --output NAME", 0, "documents: out\\x1b[31m"),
        ("score -m bleu_rouge -i mine.jsonl -r people.jsonl -o NAME", 0, '"n_rows": 20'),
        ("score -m NAME -i mine.jsonl -r people.jsonl -o NAME", 2, "\\x1b[31m"),
        ("export NAME NAME", 2, "\\x1b[31m"),
        ("coco-eval NAME mine.jsonl", 1, "\\x1b[31m"),
        ("compare NAME", 1, "\\x1b[31m"),
        ("export trm_meteor NAME NAME", 2, "unrecognized arguments: out\\x1b[31m"),
        ("doctor --traceback NAME", 2, "\\x1b[31m"),
    ],
)
def test_no_command_sends_control_characters_to_a_terminal(hostile_files, capsys, line, status, shown):
    try:
        ended = main([word.replace("NAME", hostile_files) for word in line.split()])
    except SystemExit as end:
        ended = end.code
    printed = capsys.readouterr()
    assert ended == status, printed.err
    for text in (printed.out, printed.err.replace("\r", "")):  # bars begin with a carriage return
        assert not command_line.CONTROLS.search(text), ascii(text)
        assert "\nfalse:" not in text, "a caption or an id begins a line of its own"
    assert "x7f\r" not in printed.err
    assert shown in printed.out + printed.err
    if printed.out.startswith("{"):
        json.loads(printed.out)


class Keeping(io.StringIO):
    encoding = "utf-8"


def test_control_characters_of_every_kind_are_escaped_and_progress_bars_still_move():
    for is_data in (True, False):
        kept = Keeping()
        command_line.ShownStream(kept, is_data=is_data).writelines([f"a{chr(code)}b" for code in range(0x3000)])
        shown = {code for code in range(0x3000) if f"a{chr(code)}b" in kept.getvalue()}
        bidirectional = {code for code in range(0x3000) if unicodedata.bidirectional(chr(code)) in BIDIRECTIONAL}
        marks = {0x061C, 0x200E, 0x200F}
        controls = {code for code in range(0x3000) if unicodedata.category(chr(code)) == "Cc"} - {9, 10}
        assert set(range(0x3000)) - shown == controls | bidirectional | marks
    kept = Keeping()
    with contextlib.redirect_stderr(command_line.ShownStream(kept, is_data=False)):
        with tqdm(total=2, desc="rows") as outer, tqdm(total=2, desc="texts", position=1):
            outer.update()
        print("\rover\x1b[A", file=sys.stderr)
    assert "\rrows:  50%" in kept.getvalue()
    assert "\n\rtexts:" in kept.getvalue()
    assert "\x1b[A" in kept.getvalue()
    assert "over\\x1b[A" in kept.getvalue()


# Embeddings, overrides and isolates, and what ends them: their classes in Unicode.
BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("encoding", "line", "status"),
    [
        ("ascii", "compare mine.jsonl -r people.jsonl --distance meteor -m bleu_rouge -o report", 0),
        ("latin-1", "rows mine.jsonl -o caf\u00e9\U0001f382.html", 0),
        ("ascii", "coco-eval caf\u00e9\U0001f382.json b.json", 1),
        ("cp1252", "doctor --caf\u00e9\U0001f382", 2),
        ("utf-8", "doctor --caf\u00e9\U0001f382", 2),
    ],
)
def test_every_command_prints_in_encodings_that_lack_characters(encoding, line, status, tmp_path, monkeypatch):
    rows = [
        {"id": f"\U0001f382{i}", "captions": ["\U0001f382 a dog", "caf\u00e9 \u4e16", f"a cat {i}"]} for i in range(20)
    ]
    for name in ("mine", "people"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    written = io.BytesIO()
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, io.TextIOWrapper(written, encoding, write_through=True))
    try:
        ended = main(line.split())
    except SystemExit as end:
        ended = end.code
    printed = written.getvalue().decode(encoding)
    assert ended == status, printed
    assert "Internal error" not in printed
    assert "Traceback" not in printed
    assert ("\U0001f382" if encoding == "utf-8" else r"\U0001f382") in printed


@pytest.mark.parametrize(
    ("line", "streams", "status"),
    [
        *(("list -f json", streams, 0) for streams in (">&-", "2>&-", ">&- 2>&- <&-", "2>&1 >/dev/null | true")),
        ("list -f json", "| true", 1),
        ("compare --help", "| true", 1),
        ("list --no-such-option", ">&- 2>&- <&-", 2),
    ],
)
def test_a_closed_output_is_no_traceback(line, streams, status):
    """Also not for whoever reads the first line alone; a file never gets the number of a closed stream."""
    after = "import os; files = os.pipe(); assert min(files) > 2"
    program = f"{PROGRAM}\ntry:\n    status = main({line.split()!r})\nfinally:\n    {after}\nsys.exit(status)"
    shell = f"set -o pipefail; {shlex.quote(sys.executable)} -c {shlex.quote(program)} {streams}; echo $? >&3"
    read, write = os.pipe()
    with os.fdopen(read, closefd=True) as ended:
        done = subprocess.run(["bash", "-c", f"exec 3>&{write}; {shell}"], pass_fds=[write], capture_output=True)
        os.close(write)
        code = int(ended.read())
    printed = (done.stdout + done.stderr).decode()
    assert "Traceback" not in printed, printed
    assert "Exception ignored" not in printed, printed
    assert code in ({2} if status == 2 else {0, status}), printed


def test_a_message_that_nobody_reads_ends_no_command(tmp_path):
    (tmp_path / "rows.json").write_text('[{"id": 1, "captions": ["a dog", "dogs"]}]')
    call = [sys.executable, "-m", "manycaps", "count-document-frequency", "rows.json", "--output", "out.json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*call, "--column", "captions"], stderr=full, cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out.json").read_text())["n_documents"] == 1


# The doctor: each check on a machine that lacks what it looks for.


def checks():
    return {check.subject: check for check in machine_checks.machine_checks()}


def test_the_doctor_looks_for_everything(capsys):
    assert main(["doctor", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [check["subject"] for check in found] == [
        *("module folders", "packages", "WordNet", "METEOR 1.5 data", "tokenizers", "sentence encoder"),
        *("CLIP weights", "ffmpeg libraries", "GPU", "offline mode"),
    ]
    assert all(check["advice"] or check["fine"] for check in found), "what is not fine has an advice"


def test_the_doctor_needs_no_package(without_packages):
    status, out, _ = without_packages["doctor",]
    assert status == 0
    for advice in ("manycaps[meteor]", "manycaps[clip]", "manycaps[embeddings]", "manycaps[video]"):
        assert f"Run `pip install '{advice}'`." in out


def test_the_doctor_says_how_to_get_wordnet_and_tells_offline_mode(monkeypatch):
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert checks()["WordNet"].advice == "Run `manycaps install-wordnet`."
    assert "HF_HUB_OFFLINE=1" in checks()["offline mode"].found


def test_the_doctor_finds_clip_weights(monkeypatch, tmp_path):
    monkeypatch.setattr("manycaps.kit.clip_checkpoints.cached_weights_path", lambda name: tmp_path / name)
    assert not machine_checks._has_weights("pac-vit-b-32", VARIANTS["pac-vit-b-32"].source)
    (tmp_path / "pac-vit-b-32").write_bytes(b"")
    assert checks()["CLIP weights"].found.startswith("pac-vit-b-32")


def test_the_doctor_tries_addresses(monkeypatch, capsys):
    def answer(name):
        if name == "b":
            raise InputError("checkpoint", "weights", "HTTP status 403 (Forbidden)", "Give a copy.")

    def refuse(url, timeout):
        raise ConnectionError(f"no {url}")

    variants = dict.fromkeys("ab", VARIANTS["pac-vit-b-32"])
    variants["c"] = VARIANTS["pac-vit-b-32"]._replace(source="hub:someone/clip")
    monkeypatch.setattr("manycaps.kit.clip_checkpoints.VARIANTS", variants)
    monkeypatch.setattr("manycaps.kit.clip_checkpoints.VARIANTS", variants)
    monkeypatch.setattr("manycaps.kit.clip_checkpoints.try_download", answer)
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", refuse)
    assert main(["doctor", "--online", "-f", "json"]) == 0
    *_, good, refused, hub, encoder = json.loads(capsys.readouterr().out)
    assert (good["subject"], good["fine"], good["advice"]) == ("download of CLIP weights, a", True, "")
    assert refused["found"] == "HTTP status 403 (Forbidden)"
    assert (refused["fine"], refused["advice"]) == (False, "Give a copy.")
    assert (hub["fine"], hub["advice"]) == (False, "Check the connection.")
    assert hub["found"].startswith("ConnectionError (no https://huggingface.co/someone/clip/resolve/main/config.json)")
    assert encoder["subject"] == "download of sentence encoder"


def test_no_library_imports_a_command_and_no_file_of_the_package_changes_the_path():
    for path in (ROOT / "manycaps").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "sys.path" not in text, path
        assert "manycaps.commands" not in text or path.name == "command_line.py", path
        assert not re.search(r"^\s*from (scripts|tests|metrics|measurements)\b", text, re.MULTILINE), path


def test_an_address_without_its_package_names_that_package(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert main(["rows", "s3://bucket/captions.csv", "-o", str(tmp_path / "rows.html")]) == 1
    assert capsys.readouterr().err == (
        "s3://bucket/captions.csv: expected the package that opens such addresses, got none (Install s3fs to access "
        "S3). Run `pip install s3fs`.\n"
    )


@pytest.mark.parametrize("name", ["HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"])
@pytest.mark.parametrize(
    "arguments",
    [["doctor"], ["score", "-m", "bleu_rouge", "-i", "a.jsonl", "-o", "b"], ["compare", "a.jsonl", "b.jsonl"]],
)
def test_a_file_in_place_of_a_cache_is_named_with_its_variable(capsys, monkeypatch, tmp_path, name, arguments):
    (tmp_path / "file").write_text("")
    for file in arguments[1:] if arguments[0] == "compare" else []:
        (tmp_path / file).write_text('{"id": "1", "captions": ["a dog", "a cat"], "references": ["dogs", "cats"]}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, str(tmp_path / "file"))
    assert main(arguments) == 1
    assert capsys.readouterr().err.endswith(
        f"{name}: expected a folder, got {quote_path(tmp_path / 'file')}, which is a file. Set it to a folder, or "
        "unset it.\n"
    )


def test_a_backend_of_windows_that_is_not_there_stops_no_command():
    printing = (
        "import manycaps.commands.list as command\ndef run(_):\n    import matplotlib\n"
        "    print(matplotlib.get_backend())\ncommand.run = run\n"
    )
    done = run_program("list", before=printing, MPLBACKEND="bogus")
    assert (done.returncode, done.stdout.lower()) == (0, "agg\n"), done.stderr


LONG = "a" * 100_000


@pytest.mark.parametrize("path", [LONG, "a/" * 50_000])
@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "a.csv", "b.csv", "-o", "PATH"],
        ["quickstart", "--captions", "PATH", "--no-images"],
        ["rows", "PATH"],
        ["export", "trm_meteor", "PATH"],
    ],
)
def test_a_path_that_is_too_long_is_shown_by_its_end(capsys, monkeypatch, tmp_path, path, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    started = time.monotonic()
    assert main([path if each == "PATH" else each for each in arguments]) == 1
    line = capsys.readouterr().err
    assert re.match(r"\.\.\.'[a/.]*(trm_meteor)?': expected ", line), line[:200]
    assert len(line) < 400
    assert time.monotonic() - started < 10
