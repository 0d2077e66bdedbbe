"""Texts that are hard to tokenize: words of many kinds, joined and changed at random."""

import json
import pathlib
import random

CAPTIONS = pathlib.Path(__file__).resolve().parents[2] / "manycaps" / "comparison" / "quickstart" / "captions.json"

# Words that rules of tokenizers look at, by kind; each text takes some of them.
WORDS = {
    "numbers": "1 22 1,000 3.14 .5 -7 +1 1/2 3/4 1990s '90s 5th 10:30 10am 5'6\" 80% #1 1-800 2nd 1e9 007 1.2.3 50,00",
    "money": "$5 $1,000.50 US$3 £9 €7 5€ 9¢ ¥100 $ C$4 A$ HK$2",
    "phones": "555-1234 (555) 1-800-555-1234 +44 020-7946",
    "dates": "12/25/2010 2010-12-25 Dec. 25 Jan.1 Mon. Sept. May",
    "shortened": "U.S. U.S.A. Mr. Mrs. Dr. etc. e.g. i.e. a.m. p.m. No. no. vs. Inc. Ltd. St. Ph.D. J.R. approx. fig.",
    "apostrophes": "don't can't won't it's dog's dogs' I'll we've they're he'd 'tis 'em y'all rock'n'roll ma'am",
    "curly": "don’t can’t it’s dog’s “quoted” ‘single’ I’ll ’90s rock’n’roll",
    "quotes": "\" ' `` '' ` ´ « » “ ” ‘ ’ \"dog\" 'dog' `dog' ''dog``",
    "brackets": "( ) [ ] { } (dog) [cat] {cow} -LRB- -RRB- <b> </b> <br/> <a_b> < >",
    "dashes": "- -- --- — – well-known x-ray a-b-c -dog dog- re- _ __ ~ * ** dog*cat",
    "dots": ". .. ... .... … , ; : ? ! ?! !!! dog.cat dog,cat dog;cat dog...cat",
    "addresses": "http://x.com/a?b=c www.dog.org a@b.com @dog #dog dog.com file.txt 1.jpg C:\\dog /usr/bin x.py",
    "entities": "&amp; &lt; &gt; &quot; &#39; &nbsp; AT&T R&B & a&b &copy;",
    "two": "cannot gonna gotta wanna gimme lemme dunno d'ye more'n 'twas whaddya kinda sorta",
    "scripts": "café naïve Straße İstanbul ΌΣΟΣ Привет 中文 日本語 한국어 שלום العربية हिन्दी ไทย e\u0301 ﬁsh",
    "signs": "★ ❤ © ® ™ ° ½ ¼ × ÷ ± µ § ¶ • ← → ≤ ≠ ♥ :) :-( ;D ^_^ <3 :P =D",
    "plain": "a the dog runs A Man IN RED over it and IPHONE McDonald iPad O'Neill TV's T-shirt",
}

JOINTS = (" ", " ", " ", " ", " ", "  ", "", "-", ".", ",", "/", "'", "\u00a0", "\t")

# What a word is changed by.
CHANGES = (str.upper, str.capitalize, str.swapcase, "{}.".format, "{0}{0}".format, lambda word: word[::-1])


def hostile_texts(n: int, seed: int = 0) -> list[str]:
    """Return n texts of one line each: parts of captions among hard words."""
    rng = random.Random(seed)
    scenes = json.loads(CAPTIONS.read_text(encoding="utf-8"))["scenes"]
    captions = [text.split() for scene in scenes for text in scene["references"]]
    hard = [word for words in WORDS.values() for word in words.split()]
    return [_text(rng, captions, hard) for _ in range(n)]


def _text(rng: random.Random, captions: list[list[str]], hard: list[str]) -> str:
    words = list(rng.choice(captions)) if rng.random() < 0.5 else []
    for _ in range(rng.randint(1, 6)):
        word = rng.choice(hard)
        word = rng.choice(CHANGES)(word) if rng.random() < 0.2 else word
        words.insert(rng.randint(0, len(words)), word)
    joints = [rng.choice(JOINTS) if rng.random() < 0.3 else " " for _ in words]
    return "".join(word + joint for word, joint in zip(words, joints, strict=True)).strip()
