"""Language detection: the rules only read English."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from mainspring.authoring.sketch.word_tables import split_words

ONLY_ENGLISH: Final = (
    "The rules read English only, and this looks like another language. Say it in English, or "
    "connect a model with `mainspring models connect`: a model reads other languages too."
)
# Function words unique to one of these languages.
_ENGLISH: Final = split_words(
    "the and of when whenever every each if then send post email mail write with from for new "
    "is are be this that it its them my our your they their any all at by or not but before after "
    "day daily week weekly monday tuesday wednesday thursday friday saturday sunday morning check "
    "tell remind notify add summarise summarize read which what who how into about please message "
    "page board row report file list track watch page pages look let know up out weekdays hourly"
)
_OTHERS: Final = (
    split_words("""
    wenn und der das eine einen einer einem ist sind wird werden nicht schick schicke schicken sende
    senden mir mich uns jeden jede jedes jeder täglich wöchentlich montag dienstag mittwoch
    donnerstag freitag samstag sonntag um uhr mit von vom zum zur für auf bei nach aus dem den des
    neue neuen neuer neues kommt bitte woche monat tag morgen abend wie oder auch alle allen ein
    schreib schreibe erinnere zusammenfassung bericht im ins

    le la les des une du au aux et est sont quand chaque tous toutes jour jours semaine mois envoie
    envoyer moi avec pour dans sur qui que lundi mardi mercredi jeudi vendredi samedi dimanche heure
    heures matin soir nouveau nouvelle si

    el los las una unos cuando cada todos todas día días semana mes envía enviar envíame con para
    por que del al lunes martes miércoles jueves viernes sábado domingo hora horas mañana nuevo
    nueva y quando envie uma um dos das com não segunda terça quarta quinta sexta dia dias todo toda
    os às novo nova

    il lo gli uno ogni giorno settimana mese invia inviami mandami che della dello di lunedì martedì
    mercoledì giovedì venerdì sabato domenica ora ore mattina nuovo

    het een als elke iedere dag stuur mij naar met voor van en maandag dinsdag woensdag donderdag
    vrijdag zaterdag zondag uur nieuwe

    gdy każdy codziennie wyślij mi na że jest poniedziałek wtorek środa czwartek piątek
""")
    - _ENGLISH
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|(?<!\w)'[^']*'(?!\w)")
_NO_WORDS: Final = re.compile(r"\S*(?:@|://|#|\{|_)\S*")
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST_WORDS: Final = 500
# Particles in names: Anna van den Berg.
_PARTICLES: Final = re.compile(
    r"(\b[A-ZÀ-Þ][\w'’-]{0,40}) (?:van|von|de|del|della|di|du|da|dos)"
    r"(?: (?:den|der|het|la|las|los))?(?= [A-ZÀ-Þ])"
)


def is_foreign(text: str) -> bool:
    """Report whether most function words belong to another language; names are ignored."""
    told = _PARTICLES.sub(r"\1", _NO_WORDS.sub(" ", _QUOTED.sub(" ", text)))
    words = [one for line in told.split("\n") for one in _small_words(line)][:_MOST_WORDS]
    english = sum(one in _ENGLISH for one in words)
    other = sum(one in _OTHERS for one in words) + 2 * sum(map(_is_other_script, words))
    return other > english and other > 1


def _small_words(line: str) -> list[str]:
    """The words of a line without capitalised ones, except for the first."""
    words = _WORD.findall(line)
    named = not line.isupper()
    return [
        one.casefold()
        for place, one in enumerate(words)
        if not (named and place and one[0].isupper()) or one.casefold() in _ENGLISH
    ]


def _is_other_script(word: str) -> bool:
    return not unicodedata.name(word[0], "LATIN").startswith("LATIN")
