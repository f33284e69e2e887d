"""Recognising names of persons in a column of words, however few they are: six doctors of a ward are six persons."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_NAMED = re.compile(
    r"(.*[ _.-])?((sur|last|first|given|family|fore|middle|maiden|full|birth|vor|nach|zu|familien|rufs?)[ _.-]*names?"
    r"|(patient|person|client|customer|employee|staff|doctor|user|contact)s?[ _.-]*names?|initials"
    r"|pr[eé]nom|nom|nombre|apellidos?|cognome|voornaam|achternaam|nazwisko|imi[eę]"
    r"|doctor|physician|surgeon|nurse|midwife|therapist|teacher|caseworker|arzt|[aä]rztin|[aä]rzt(e|innen)?"
    r"|behandler(in)?|sachbearbeiter(in)?|hausarzt|m[eé]decin|medico|m[eé]dico|lekarz)([ _.-]*[0-9]+)?|names?",
    re.IGNORECASE,
)
"""Names of columns that hold names of persons."""

_TITLED = re.compile(
    r"(prof|dr|mr|mrs|ms|miss|sir|herr|frau|hr|fr|mme|mlle|monsieur|madame|sra?|dott|dipl)\b\.? ?.*[^\W\d_]{2,}", re.I
)
_WORD = re.compile(r"[^\W\d_]+(['’-][^\W\d_]+)*\.?")
"""A word of a name: letters, with an apostrophe or a hyphen inside."""

_PARTICLES = frozenset(
    ("von", "van", "de", "der", "den", "del", "di", "da", "la", "le", "zu", "zur", "ten", "ter", "el")
)

GIVEN = frozenset(
    """
    aaron abdul adam adrian agnes ahmad ahmed aisha alan albert alessandro alex alexander alexandra alfred ali
    alice alina amanda amina amy ana andrea andreas andrew andrzej angela anita anja ann anna anne annette antje
    anton antonio arthur astrid barbara bart beata ben benjamin bernd bernhard betty bettina birgit bob bruno carl
    carla carlos carmen carol caroline catherine charles charlotte chen chiara chris christa christian christina
    christine christoph claire clara claudia clemens cornelia daniel daniela david deborah dennis diana dieter
    dirk dmitri donald dora doris dorothea edith edward elena elias elisabeth elizabeth elke ella emil emily emma
    eric erich erik erika ernst esther eva ewa fatima felix florian francesca francesco frank franz franziska fred
    friedrich fritz gabriele georg george gerd gerhard gisela giulia giuseppe greta gregor grzegorz günter günther
    hanna hannah hans harald hassan heidi heike heinrich heinz helen helena helga helmut henry herbert hermann
    hilde holger horst hugo ibrahim ina inga ines ingrid irene iris isabel isabella ivan jack jacob jakob james
    jan jana jane janina jean jennifer jens jessica joachim joan joanna johann johanna johannes john jonas jorge
    jose josef joseph juan judith julia julian jürgen kai karen karin karl karla karolina katarzyna katharina
    kathrin katja kevin kim klara klaus konrad krzysztof kurt lara lars laura lea lena leon leonie lina linda lisa
    lora louis louise luca lucas lucia luis luisa lukas magda magdalena maja manfred manuel manuela marc marco
    margaret maria marie marion mark marko markus marta martha martin martina mary matteo matthias max maximilian
    mehmet mia michael michaela michel mikhail mohamed mohammed monika moritz mustafa nadia nadine natalia
    nicholas nicole nikolaus nina noah nora norbert oleg olga oliver olivia omar oskar otto patricia patrick paul
    paula pedro peter petra philip philipp pia piotr rainer ralf rebecca regina reinhard rene renate richard rita
    robert roland rolf rosa rudolf ruth sabine samuel sandra sara sarah sebastian sergei silke silvia simon simone
    sofia sonja sophia sophie stefan stefanie stephan stephen steven susan susanne svetlana sven sylvia tanja
    tatjana thomas tim timo tina tobias tom tomasz ulrich ulrike ursula ute uwe vanessa vera verena veronika
    victor victoria viktor vincent volker walter werner wilhelm william wolfgang xavier yasmin yusuf yvonne zoe
    """.split()  # noqa: SIM905  # four hundred quoted words would be harder to read
)
"""Frequent given names of several languages: not to know them all, but to notice a column in which they abound."""


def names_of_persons(column: str, texts: Sequence[str]) -> str | None:
    """Why the words of a column look like names of persons; None if they do not."""
    words = [text.strip() for text in texts if text.strip()]
    if len(words) < 2:
        return None
    told = f"names of persons: {len(words):,} different values"
    if _NAMED.fullmatch(column.strip()) and _share(words, _is_nameable) > 0.9:
        return f"{told} in a column that is named so"
    if _share(words, lambda text: _TITLED.fullmatch(text) is not None) >= 0.5:
        return f"{told}, with titles"
    if _share(words, _is_person) >= 0.5 or (
        len(words) > 2 and _share(words, lambda text: text.lower() in GIVEN) >= 0.8
    ):
        return f"{told}, most with a frequent given name"
    return None


def _share(words: Sequence[str], test: Callable[[str], bool]) -> float:
    return sum(map(test, words)) / len(words)


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[ ,.]+", text) if part]


def _is_nameable(text: str) -> bool:
    """Whether a text could be a name: one to five words of letters, of which the first or the last begins large."""
    parts = _parts(text)
    return (
        1 <= len(parts) <= 5
        and all(map(_WORD.fullmatch, parts))
        and any(part[0].isupper() for part in (parts[0], parts[-1]))
        and len(text) > 2
    )


def _is_person(text: str) -> bool:
    """Whether a text is a given name with another name before or after it."""
    parts = _parts(text)
    if not 2 <= len(parts) <= 4 or not all(map(_WORD.fullmatch, parts)):
        return False
    large = all(part[0].isupper() or part.lower() in _PARTICLES for part in parts)
    given = parts[1] if "," in text else parts[0]
    return large and given.lower() in GIVEN
