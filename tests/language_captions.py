"""Captions in other languages than English: varied sentences put together by chance, always the same ones.

Five languages are those of METEOR 1.5, with forms of words that stemmers join, quotation marks, apostrophes,
abbreviations and numbers; the others are for tokenizers.
"""

import random

# By language: who (singular and plural, with an article), what they do (both), where, how, and what a scene ends with.
PARTS = {
    "de": (
        [("ein brauner Hund", "zwei braune Hunde"), ("eine alte Frau", "die alten Frauen"), ("das Kind", "die Kinder"),
         ("der Verkäufer", "mehrere Verkäuferinnen"), ("ein Mann namens Dr. Weiß", "Männer in Anzügen"),
         ("die Straßenbahn Nr. 5", "die Straßenbahnen"), ("ein großes Ereignis", "große Ereignisse")],
        [("läuft", "laufen"), ("spielt Fußball", "spielen mit Fußbällen"), ("isst 3,5 kg Äpfel", "aßen viele Äpfel"),
         ("liest die „Zeitung“", "lasen Zeitungen"), ("schläft", "schliefen"), ("verkauft Obst", "verkauften Obst")],
        ["am Strand", "auf der Straße", "in der Nähe des Hauses", "vor dem Bahnhof, d.h. draußen", "im Schnee", ""],
        ["schnell", "z.B. heute", "mit großer Freude", "bei guten Verhältnissen", "wie's scheint", ""],
    ),
    "fr": (
        [("un chien brun", "deux chiens bruns"), ("l'enfant", "les enfants"), ("une joueuse", "les joueuses"),
         ("l’homme d'affaires", "des hommes d’affaires"), ("la vieille dame", "les vieilles dames"),
         ("M. Dupont", "les voyageurs yougoslaves"), ("une voiture bleue", "des voitures bleues")],
        [("court", "courent"), ("joue au football", "jouaient au ballon"), ("mange 2,5 kg de pommes", "mangèrent"),
         ("s'assoit", "se sont assis"), ("regarde continuellement la mer", "regardaient"), ("échoue", "échouaient")],
        ["sur la plage", "dans la rue", "à l'arrêt de l'autobus", "près de l’eau", "devant la « gare »", "aujourd'hui"],
        ["rapidement", "très heureuse", "p. ex. le matin", "avec une ambition aiguë", "qu'il aime", ""],
    ),
    "es": (
        [("un perro marrón", "dos perros marrones"), ("la niña", "las niñas"), ("el jugador", "los jugadores"),
         ("una mujer mayor", "unas mujeres mayores"), ("el Sr. López", "los señores"), ("un coche", "coches azules"),
         ("la constitucion", "las constituciones")],
        [("corre", "corren"), ("juega al fútbol", "jugaban al fútbol"), ("come 1.000 manzanas", "comieron manzanas"),
         ("está leyendo", "leíamos"), ("camina", "caminando"), ("mira la televisión", "miraron")],
        ["en la playa", "por la calle", "cerca del agua", "delante de la estación", "¡en la nieve!", ""],
        ["rápidamente", "con mucha alegría", "¿por qué?", "según la informacion", "p.ej. hoy", ""],
    ),
    "cs": (
        [("hnědý pes", "dva hnědí psi"), ("malé dítě", "děti"), ("stará žena", "staré ženy"), ("pan Novák", "muži"),
         ("modré auto", "modrá auta"), ("hráč č. 5", "hráči")],
        [("běží", "běhají"), ("hraje fotbal", "hráli fotbal"), ("jí 2,5 kg jablek", "jedli jablka"), ("čte", "četli"),
         ("spí", "spali")],
        ["na pláži", "na ulici", "u vody", "před „nádražím“", "ve sněhu", ""],
        ["rychle", "s velkou radostí", "např. dnes", "d'Artagnan", ""],
    ),
    "ru": (
        [("коричневая собака", "две коричневые собаки"), ("ребёнок", "дети"), ("её подруга", "подруги"),
         ("пожилой мужчина", "пожилые мужчины"), ("г. Иванов", "игроки"), ("синяя машина", "синие машины")],
        [("бежит", "бегут"), ("играет в футбол", "играли в футбол"), ("ест 2,5 кг яблок", "ели яблоки"),
         ("читает «газету»", "читали газеты"), ("идёт", "идут"), ("воюет", "воюющие")],
        ["на пляже", "по улице", "у воды", "перед вокзалом", "в снегу", ""],
        ["быстро", "с большой радостью", "т.е. сегодня", "ещё раз", ""],
    ),
}  # fmt: skip

# Captions without blanks between words, or with punctuation of their own.
SENTENCES = {
    "zh": ["一只棕色的狗，在沙滩上奔跑。", "两个孩子在公园里踢足球！", "老人坐在长椅上看报纸；旁边有３只猫"],
    "ja": ["茶色の犬が、砂浜を走っています。", "二人の子供がサッカーをしている！", "ﾒｶﾞﾈの男性が「新聞」を読む"],
    "ko": ["갈색 개가 해변을 달린다.", "두 아이가 공원에서 축구를 한다!", "안경을 쓴 남자가 '신문'을 읽는다"],
    "th": ["สุนัขสีน้ำตาลวิ่งบนชายหาด", "เด็กสองคนเล่นฟุตบอลในสวน ๓ ใบ", "ชายชรานั่งอ่านหนังสือพิมพ์"],
    "hi": ["एक भूरा कुत्ता समुद्र तट पर दौड़ता है।", "दो बच्चे पार्क में फुटबॉल खेलते हैं॥", "बूढ़ा आदमी, अखबार!"],
    "de": ["Ein Hund läuft am Strand, z.B. heute.", "„Zwei Kinder“ spielen Fußball!", "Der Mann liest 3,5 Seiten."],
}  # fmt: skip


def caption(language: str, who: int, generator: random.Random) -> str:
    """Return a sentence about the same people or things in other words."""
    subjects, verbs, places, manners = PARTS[language]
    number = generator.randrange(2)
    parts = [
        subjects[who][number],
        generator.choice(verbs)[number],
        generator.choice(places),
        generator.choice(manners),
    ]
    if generator.random() < 0.3:
        parts[2:] = parts[:1:-1]
    if generator.random() < 0.2:
        parts[1:1] = [generator.choice([",", "-", "--", "..."])]
    text = " ".join(filter(None, parts)) + generator.choice(["", ".", ".", "!", " ."])
    return text[0].upper() + text[1:] if generator.random() < 0.7 else text


def segments(language: str, n_segments: int = 1000, n_references: int = 3) -> list[tuple[str, list[str]]]:
    """Return captions, each with references about the same or, at times, other people or things."""
    generator = random.Random(f"METEOR 1.5, {language}")
    found = []
    for _ in range(n_segments):
        who = generator.randrange(len(PARTS[language][0]))
        others = [who if generator.random() < 0.8 else generator.randrange(len(PARTS[language][0]))] * n_references
        references = [caption(language, other, generator) for other in others]
        found.append((caption(language, who, generator), references))
    return found


def paraphrases(language: str) -> list[tuple[str, str]]:
    """Return phrases with paraphrases, as a table has them: sorted by bytes, the better ones first."""
    _, verbs, places, manners = PARTS[language]
    phrases = [*(verb.lower() for pair in verbs for verb in pair), *filter(None, (*places, *manners))]
    generator = random.Random(f"paraphrases, {language}")
    pairs = {(phrase, other) for phrase in phrases for other in generator.sample(phrases, 3) if phrase != other}
    return sorted(pairs, key=lambda pair: (pair[0].encode(), pair[1].encode()))
