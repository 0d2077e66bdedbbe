"""Paths of module folders, for `evaluate.load`, which takes strings only."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAC_SCORE = str(ROOT / "metrics" / "pac_score")
REF_PAC_SCORE = str(ROOT / "metrics" / "ref_pac_score")
EMSCORE_PAC = str(ROOT / "metrics" / "emscore_pac")
