"""Tables for a paper: chosen columns, groups of many systems, and LaTeX that fits a page."""

import re
import shutil
import subprocess

import pytest

from manycaps.comparison.render import SystemComparison
from manycaps.comparison.table_terms import MOST_COLUMNS, OF_PARITY
from manycaps.files.result_tables import write_table
from tests.comparison_cases import NAMES as FEW
from tests.comparison_cases import comparison

# Words of a caption that journals take.
MOST_WORDS = 60

CHOICES = {
    "usual": None,
    "eight": ["faults", "group", "unsupported", "repeated", "p", "rows to detect", "generic", "near-duplicates"],
    "metrics": ["TRM-CIDEr excess", "p people", "CIDEr-D"],
    "both": ["faults", "wording gap", "cider_d", "words_per_text"],
    "one": ["p"],
}


def columns_of(latex):
    """Titles, and the cells of each system by the first one's order."""
    head, _, body = latex.partition("\\midrule\n")
    titles = head.partition("\\toprule\n")[2].strip().removesuffix("\\\\").split(" & ")
    return [title.strip() for title in titles], body


@pytest.mark.parametrize("choice", CHOICES)
def test_a_table_for_a_paper_has_a_caption_a_label_and_few_columns_with_numbers(choice, with_people):
    latex = SystemComparison.of(with_people).write("latex", columns=CHOICES[choice])
    [caption] = re.findall(r"\\caption\{(.*)\}\n", latex)
    assert len(caption.split()) <= MOST_WORDS
    assert latex.count(r"\label{tab:systems}") == 1
    titles, body = columns_of(latex)
    assert 2 <= len(titles) <= 1 + MOST_COLUMNS
    if CHOICES[choice]:
        assert len(titles) == 1 + len(CHOICES[choice])
    rows = [line.strip().split(" & ") for line in body.splitlines() if line.strip().startswith("system ")]
    assert len(rows) == 7
    for title, *cells in zip(titles, *rows, strict=True):
        assert title in ("system", "group") or any(re.search(r"\d", cell) for cell in cells), title
    if "[" in body:
        assert "95\\% intervals, not corrected for several systems" in caption


@pytest.mark.parametrize("form", ["latex", "md", "text"])
def test_chosen_columns_stand_in_their_order_whatever_their_spelling(form, with_people):
    words = SystemComparison.of(with_people)
    chosen = ["Rows_to-Detect", "FAULTS", "cider d"]
    assert words.write(form, columns=chosen) == words.write(form, columns=["rows to detect", "faults", "CIDEr-D"])
    written = words.write(form, columns=chosen)
    assert written.index("detect") < written.rindex("faults") < written.rindex("CIDEr")


@pytest.mark.parametrize("term", ["omitted", "METEOR"])
def test_a_column_without_a_number_is_refused_with_the_list(term, with_people):
    """Omissions take texts of several sentences."""
    words = SystemComparison.of(with_people)
    ends = ", of which nothing was measured. " if term in OF_PARITY else ". "
    expected = "^--table: expected some of faults, group, .*CIDEr-D, got "
    with pytest.raises(ValueError, match=f"{expected}{term!r}{ends}Choose others; -m adds metrics.$"):
        words.write("latex", columns=[term])


def test_many_systems_have_groups_in_place_of_marks(with_people):
    """Seven systems of three kinds: marks of four of them would say nothing."""
    table = SystemComparison.of(with_people).words.tables["answer"]
    place = table.header.index("group")
    groups = {row[0].text: row[place].text for row in table.rows}
    adjusted = {frozenset((p.first, p.second)): p.adjusted_p_value for p in with_people.human_parity.pairs}
    assert groups.pop("people") == ""
    assert all(groups.values())
    for first in groups:
        for second in groups:
            if first != second and set(groups[first]) & set(groups[second]):
                assert adjusted[frozenset((first, second))] > 0.05
    # Copies of one system are in one group.
    assert groups["system 0"] == groups["system 3"] == groups["system 6"]
    for column in zip(*table.rows, strict=True):
        assert 2 * sum(cell.is_best for cell in column) <= len(groups)
    few = SystemComparison.of(comparison(n_rows=12))
    assert "group" not in few.words.tables["systems"].caption
    assert len(few.result.systems) == len(FEW)


def test_metrics_of_many_systems_have_groups_too(with_people):
    table = SystemComparison.of(with_people).words.tables["systems"]
    place = table.header.index("CIDEr-D")
    letters = {row[0].text: row[place].letters for row in table.rows}
    better = {frozenset((pair.first, pair.second)): pair.better for pair in with_people.metrics["cider_d"].pairs}
    assert any(better.values())
    for pair, name in better.items():
        first, second = pair
        if name:
            assert not set(letters[first]) & set(letters[second])


def test_every_table_of_full_has_its_own_label_and_a_short_caption(with_people):
    latex = SystemComparison.of(with_people).write("latex", full=True)
    labels = re.findall(r"\\label\{(.*)\}", latex)
    captions = re.findall(r"\\caption\{(.*)\}\n", latex)
    assert len(labels) == len(set(labels)) == len(captions) > 2
    assert max(len(caption.split()) for caption in captions) <= MOST_WORDS


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["onecolumn", "twocolumn"])
@pytest.mark.parametrize("n_systems", [5, 18])
def test_latex_compiles_and_fits_the_page(n_systems, layout, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-base texlive-latex-recommended")
    names = [f"a_system & its name {i}" for i in range(n_systems)]
    shown = SystemComparison.of(comparison(60, names=names, shifts=[0.02 * i for i in range(n_systems)]))
    chosen = (None, ["TRM-METEOR excess", "p people", "METEOR"], ["METEOR"])
    tables = [shown.write("latex", columns=columns) for columns in chosen]
    packages = {line for table in tables for line in re.findall(r"% (\\usepackage.*)", table)}
    text = [rf"\documentclass[{layout}]{{article}}", *packages, r"\begin{document}", "Text."]
    text += [table.replace("tab:systems", f"tab:{i}") for i, table in enumerate(tables)]
    (tmp_path / "paper.tex").write_text("\n".join([*text, r"\end{document}"]), encoding="utf-8")
    line = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    for said in ("Overfull", "too large", "multiply defined"):
        assert said not in done.stdout, done.stdout[-3000:]
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


def test_a_wide_table_takes_both_columns_of_a_page_and_a_narrow_one_takes_one(with_people):
    shown = SystemComparison.of(with_people)
    wide, narrow = shown.write("latex"), shown.write("latex", columns=["faults", "p"])
    assert [text in wide for text in (r"\begin{table*}", r"\end{table*}", r"\begin{table}")] == [True, True, False]
    assert [text in narrow for text in (r"\begin{table}", r"\end{table}", r"\begin{table*}")] == [True, True, False]
    assert write_table(shown.words.screen, "latex").startswith(r"\begin{tabular}")
