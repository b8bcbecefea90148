from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.sources.mail.quotes import split_text, to_read


def kept(text: str) -> str:
    return to_read(split_text(text), quoted=False, signature=False)


def test_it_works() -> None:
    pieces = split_text("Yes.\n\nOn 3 May 2026, Bob <b@c.example> wrote:\n> Tea?\n\n-- \nAda\n")
    assert [piece.kind for piece in pieces] == ["body", "quoted", "signature"]
    assert to_read(pieces, quoted=False, signature=False) == "Yes."
    assert to_read(pieces, quoted=False, signature=True) == "Yes.\n\n-- \nAda".replace("-- ", "--")


@pytest.mark.parametrize(
    "attribution",
    [
        "On Tue, 3 Nov 2026 at 09:12, Bob <b@c.example> wrote:",
        "On Tue, 3 Nov 2026 at 09:12, Bob\n<b@c.example> wrote:",
        "Am 05.11.26 um 09:20 schrieb Bob <b@c.example>:",
        "Le mar. 3 nov. 2026 à 09:12, Bob <b@c.example> a écrit :",
        "El mar, 3 nov 2026 a las 9:12, Bob (<b@c.example>) escribió:",
        "Il giorno mar 3 nov 2026 alle ore 09:12 Bob <b@c.example> ha scritto:",
        "Op di 3 nov 2026 om 09:12 schreef Bob <b@c.example>:",
        "في الاثنين، 16 نوفمبر 2026 في 11:20 ص كتب Bob <b@c.example>:",
        "‫בתאריך יום ד׳, 11 בנוב׳ 2026 ב-16:48 מאת ‪Bob‬‏ <‪b@c.example‬‏>:‬",
        "-----Original Message-----",
        "-----Ursprüngliche Nachricht-----",
        "________________________________\nFrom: Bob\nSent: Tuesday\nTo: Ada\nSubject: Tea",
        "*Von:* Bob\n*Gesendet:* Dienstag\n*An:* Ada\n*Betreff:* Tee",
        "De : Bob\nEnvoyé : mardi\nÀ : Ada\nObjet : Thé",
        "من: Bob\nتاريخ الإرسال: الثلاثاء\nإلى: Ada\nالموضوع: شاي",
        "מאת: Bob\nנשלח: יום שלישי\nאל: Ada\nנושא: תה",
    ],
)
@pytest.mark.parametrize("mark", ["> ", ""])
def test_history_is_left_out_with_marks_or_without(attribution: str, mark: str) -> None:
    text = f"Yes, please.\n\n{attribution}\n\n{mark}Would you like tea?\n{mark}Bob\n"
    assert kept(text) == "Yes, please."


def test_answers_between_quotes_stay_in_order() -> None:
    text = "Bob wrote:\n> Tea?\nYes.\n> Milk?\nNo.\n"
    assert kept(text) == "Yes.\nNo."


def test_what_is_forwarded_is_the_matter() -> None:
    text = "See below\n\n---------- Forwarded message ---------\nFrom: Bob\nDate: x\nSubject: Tea\n\nTea is out.\n"
    assert kept(text).endswith("Tea is out.")
    block = "See below\n\nFrom: Bob\nSent: x\nTo: y\nSubject: Tea\n\nTea is out.\n"
    assert to_read(split_text(block, is_forward=True), quoted=False, signature=False).endswith("Tea is out.")


def test_all_is_read_when_all_is_quoted() -> None:
    assert kept("> Tea?\n> Milk?") == "> Tea?\n> Milk?"


@pytest.mark.parametrize(
    "signature",
    ["-- \nAda\nFarm", "--\nAda", "Sent from my iPhone", "Von meinem iPhone gesendet", "أرسلت من الآيفون"],
)
def test_signatures_are_left_out(signature: str) -> None:
    assert kept(f"Two litres.\n\n{signature}\n") == "Two litres."


@pytest.mark.parametrize(
    "text",
    [
        "The options are:\n--\none\n" + "more\n" * 40,
        "He wrote: come at once.\nShe said no.",
        "From: the beginning it was clear\nthat we need more milk.",
        "Sent from my office, the letter arrived after a week and we could not answer it any more in time, so "
        "please wait.",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert kept(text) == text.strip()


@given(
    st.lists(
        st.sampled_from(
            ["> a", "b", "", "-- ", "On 3 May Bob wrote:", "From: x", "To: y", "Subject: z", "\r", "\u2028"]
        )
    )
)
def test_pieces_join_to_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "".join(piece.text for piece in split_text(text)) == text
