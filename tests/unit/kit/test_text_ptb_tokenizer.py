"""The tokenizer against what the Java program prints, and its invariants.

Expected tokens: each caption on a line of its own through Stanford CoreNLP 3.4.1,
`java -Dfile.encoding=UTF-8 -cp stanford-corenlp-3.4.1.jar edu.stanford.nlp.process.PTBTokenizer -preserveLines
-lowerCase captions.txt`, then without `REMOVED_TOKENS` and split at white space, as pycocoevalcap and its metrics do.
"""

import re

from hypothesis import given
from hypothesis import strategies as st

from manycaps.kit import text_ptb_tokenizer
from manycaps.kit.text_ptb_tokenizer import REMOVED_TOKENS, tokenize, tokenize_captions
from tests.each_case import each_case
from tests.refusals import assert_refused

# Pieces whose order and neighbours matter: random text alone would rarely put two of them together.
PIECES = (
    "a dog St. Mr etc. no. U.S. 5 10 1,000 1/2 ' 's n't ’ “ ” - -- – . ... … , : ! ? ( ) [ ] < > & &amp; @ # $ % * / _ "
    "\" ` é 中 ½ £ ❤ 🐶 com http:// www. gonna cannot '90s o'clock \u0301 \xad \u200b \ud800 \x00 \x85 \u2028"
).split(" ")
CAPTIONS = st.one_of(
    st.text(st.characters()), st.lists(st.sampled_from([*PIECES, " ", "\t", "\xa0"]), max_size=12).map("".join)
)

# Caption, and the tokens that Java prints joined by blanks.
PRINTED_BY_JAVA = [
    # Nothing to print.
    ("", ""),
    (" \t ", ""),
    (". , ; : ? ! - -- ...", ""),
    # Marks of the sentence.
    ("A dog , a cat .", "a dog a cat"),
    ("A dog,a cat.", "a dog a cat"),
    ("A dog.The cat. It sat", "a dog.the cat it sat"),
    ("ready to bat.,", "ready to bat."),
    ("Really ?! Yes !!! No ?", "really ?! yes !!! no"),
    ("wait.. what... no.... yes…", "wait what no yes"),
    # Abbreviations and initials.
    ("Mr. Smith Jr. met Dr. No.", "mr. smith jr. met dr. no"),
    ("St. Louis, the U.S. and U.S.A.", "st. louis the u.s. and u.s.a."),
    ("at 5 p.m. and 10:30am", "at 5 p.m. and 10:30 am"),
    ("e.g. cats, i.e. dogs, etc.", "e.g. cats i.e. dogs etc."),
    ("No. 5 and no. 7 , I say no.", "no. 5 and no. 7 i say no"),
    ("bus no.5, pp.12", "bus no. 5 pp. 12"),
    ("Miss. Ann had a near miss.", "miss. ann had a near miss"),
    ("Ph.D. at Inc. Co. vs. Ltd.", "ph.d. at inc. co. vs. ltd."),
    ("Plan A. or b.", "plan a. or b."),
    # Numbers.
    ("1,000.50 or 3.5 or .5 or -5", "1,000.50 or 3.5 or .5 or -5"),
    ("1/2 3-1/2 ½ 3½ 12/25/2003", "1/2 3-1/2 1/2 3 1/2 12/25/2003"),
    ("3 1/2-inch and 1/2-inch", "3 1/2 inch and 1/2-inch"),
    ("50% of $5, £3, €3 and US$5", "50 % of $ 5 # 3 $ 3 and us$ 5"),
    ("#1 2nd 1990s '90s 1990's", "# 1 2nd 1990s '90s 1990 's"),
    ("call (555) 123-4567", "call -lrb-555-rrb- 123-4567"),
    ("5'10\" and 45° F", "5 10 and 45 ° f"),
    # Contractions and apostrophes.
    ("can't won't isn't couldn't've", "ca n't wo n't is n't could n't 've"),
    ("cannot gonna gotta wanna lemme gimme", "can not gon na got ta wan na lem me gim me"),
    ("it's he'll they're I'm we've she'd", "it 's he 'll they 're i 'm we 've she 'd"),
    ("it’s don’t ’90s", "it 's do n't ’90s"),
    ("'tis 'twas y'all d'you ma'am", "'t is 't was y' all d'you ma'am"),
    ("dogs' o'clock rock'n'roll Slip 'n' Slide", "dogs o'clock rock 'n' roll slip 'n' slide"),
    ("O'Brien D'Angelo jack-o'-lantern", "o'brien d'angelo jack-o lantern"),
    # Hyphens, dashes, slashes.
    ("a well-known t-shirt - or -- two", "a well-known t-shirt or two"),
    ("dog–cat dog—cat dog--cat", "dog cat dog cat dog cat"),
    ("and/or w/ w/o a/b/c/d", "and/or w / w/o a/b/c / d"),
    # Quotes.
    ("he said \"dog.\" and 'cat'", "he said dog and cat"),
    ("“dog” ‘cat’ `cow` ``pig''", "dog cat cow pig"),
    ("““dog””", "```` dog ''''"),
    # Brackets.
    ("a (dog) [cat] {cow}", "a -lrb- dog -rrb- -lsb- cat -rsb- -lcb- cow -rcb-"),
    ("-LRB- a -RRB-", "-lrb- a -rrb-"),
    # The web.
    ("http://x.com/a?b=c, www.x.com", "http://x.com/a?b=c www.x.com"),
    ("a@b.com @me #tag file.txt 1.jpg", "a@b.com @me #tag file.txt 1.jpg"),
    ("<br> a <b c='d e'> x < y", "<br> a <b c='d e'> x < y"),
    ("a &amp; b &lt; c &quot;d&quot; AT&amp;T", "a & b < c d at&t"),
    (":) :-( :D ;) ^_^ <3", ":-rrb- :--lrb- :d ;-rrb- ^_^ < 3"),
    # Signs.
    ("AT&T R&B C++ a&b", "at&t r&b c++ a & b"),
    ("a_b _a * ** a*b a+b=c ~ | \\", "a_b _ a * ** a * b a + b = c ~ | \\"),
    # Other scripts and characters.
    ("CAFÉ Straße İstanbul", "café straße i̇stanbul"),
    ("cafe\u0301 ΌΣΟΣ", "cafe\u0301 όσος"),
    ("中文 日本語 한국어 שלום العربية हिन्दी", "中文 日本語 한국어 שלום العربية हिन्दी"),
    ("dog🐶cat ❤ ★", "dog cat ❤ ★"),
    ("soft\xadhyphen zero\u200bwidth a\xa0b a\u2028b a\x85b a\x00b", "softhyphen zero width a b a b a b a b"),
    # Telephone numbers go on over blanks and end before letters; dates and fractions in digits of any script.
    ("call 555-1234 1990s", "call 555-1234 1990 s"),
    ("+1 555 123-4567s", "+1 555 123-4567 s"),
    ("++49-30 1234567", "++49-30 1234567"),
    ("５⁄6x", "５⁄6 x"),
    ("3/5/8１", "3/5/8１"),
    ("３ 1/2 cups", "３ 1/2 cups"),
    ("no. ３", "no. ３"),
    # What follows an abbreviation decides whether it is one.
    ("etc.10", "etc. 10"),
    ("Jan.6-8", "jan.6-8"),
    ("etc.-6", "etc. -6"),
    ("etc.-25", "etc.-25"),
    ("sept.a. x", "sept. a. x"),
    ("co.s.x", "co.s.x"),
    ("etc.x's", "etc.x 's"),
    ("co.@dog", "co.@dog"),
    ("Ph.D.s", "ph.d. s"),
    ("MFG. x, Mfg. x", "mfg x mfg. x"),
    # Signs like an apostrophe begin no suffix; they join letters.
    ("n`RE", "n`re"),
    ("do`re", "do re"),
    ("A‘Ve.", "a‘ve"),
    ("o'o o’O", "o'o o’o"),
    ("y'md", "y md"),
    ("’n's", "’n' s"),
]


@each_case(("caption", "printed"), PRINTED_BY_JAVA)
def test_hand_cases(caption, printed):
    assert tokenize(caption) == printed.split(" " if printed else None)


@given(CAPTIONS)
def test_tokens_are_clean_for_any_text(caption):
    tokens = tokenize(caption)
    assert all(token and not re.search(r"\s", token) for token in tokens)
    assert REMOVED_TOKENS.isdisjoint(tokens)
    assert not any("\ud800" <= character <= "\udfff" for token in tokens for character in token)


@given(st.lists(CAPTIONS, max_size=6), st.randoms(use_true_random=False))
def test_neither_memory_nor_order_changes_the_tokens(captions, order):
    text_ptb_tokenizer._remembered.clear()
    fresh = [tokenize(caption) for caption in captions]
    assert tokenize_captions(captions) == fresh
    rows = list(range(len(captions)))
    order.shuffle(rows)
    assert tokenize_captions(captions[row] for row in rows) == [fresh[row] for row in rows]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_words_looked_up_one_by_one_equal_the_whole_caption_scanned(caption):
    assert tokenize(caption) == text_ptb_tokenizer._scan(caption)


def test_the_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(text_ptb_tokenizer, "N_REMEMBERED_WORDS", 10)
    monkeypatch.setattr(text_ptb_tokenizer, "_remembered", {})
    captions = [f"word{chr(97 + i % 26)}x{'y' * (i // 26)}" for i in range(100)]
    assert tokenize_captions(captions) == [[caption] for caption in captions]
    assert len(text_ptb_tokenizer._remembered) <= 10
    tokenize("z" * (text_ptb_tokenizer.LONGEST_REMEMBERED_WORD + 1))
    assert all(len(word) <= text_ptb_tokenizer.LONGEST_REMEMBERED_WORD for word in text_ptb_tokenizer._remembered)


# Repeated, each of these makes some shape look far ahead and fail.
@each_case(
    "unit", ["a", "a.", "a,", "a-", "a@", "%.", "<a ", '<a b="', "(555) ", "no. ", "n't", "www.", "!", "'", "é", "🐶"]
)
def test_time_grows_with_the_length_and_no_faster(unit, monkeypatch):
    """Counts characters looked at, not seconds: every shape sees at most `LONGEST_SHAPE` characters per token."""
    n_scanned = 0
    scan = text_ptb_tokenizer._shape_at

    def counted(text, start):
        nonlocal n_scanned
        n_scanned += 1
        return scan(text, start)

    monkeypatch.setattr(text_ptb_tokenizer, "_shape_at", counted)
    n_places = []
    for n in (500, 5_000):
        n_scanned = 0
        tokenize((unit * n)[:n])
        n_places.append(max(n_scanned, 1))
    assert n_places[1] <= 11 * n_places[0]
    assert n_places[1] <= 5_000


def test_a_long_word_stays_whole():
    for word in ("x" * 100_000, "a-" * 1_000 + "a"):
        assert tokenize(word) == [word]


def test_the_error_names_the_caption():
    assert_refused(TypeError, "caption: expected a string, got NoneType", tokenize, None)
    assert_refused(TypeError, "captions[1]: expected a string, got int", tokenize_captions, ["a", 5])
    message = "captions: expected an iterable of strings, got one string"
    assert_refused(TypeError, message, tokenize_captions, "a dog")
