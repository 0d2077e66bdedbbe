"""Cases for the widget of evaluate: rows, and what they give."""

SCENES = [(animal, place) for animal in ("dog", "cat", "cow") for place in ("beach", "street", "lawn", "farm")]
PEOPLE = [[f"a {animal} runs on the {place}", f"the {animal} is on a {place}"] for animal, place in SCENES]
BROKEN = [[f"a a {animal} runs {place} on"] for animal, place in SCENES]

test_cases = [
    {"predictions": BROKEN, "references": PEOPLE, "result": {"odd_wording_share": 1.0}},
    {"predictions": [row[:1] for row in PEOPLE], "references": PEOPLE, "result": {"wording_gap": 0.0}},
]
