"""What of a mail's text is new, what is quoted history, what a signature: rules of one line each, linear in time.

Written by hand after a look at mail-parser-reply: 20 kB of empty lines keep that one busy for half a minute, it
drops blanks (so its pieces do not join to the text again), and it does not keep answers between quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal

Kind = Literal["body", "quoted", "signature"]
LONGEST_LINE = 600
"""Characters: longer lines are no attribution, separator or header."""
LOOKED_AT = 1024 * 1024
"""Characters: what comes after them is what the last line of them is. No model reads more."""
LONGEST_SIGNATURE = 30
"""Lines after "-- ": what is longer is no signature but a text that uses dashes."""


@dataclass(frozen=True, slots=True)
class Piece:
    kind: Kind
    text: str


_BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_VERB = re.compile(
    r"(?:wrote|writes|said|schrieb(?:en)?|geschrieben|a [ée]crit|escribi[oó]|ha scritto|scrive|schreef|escreveu|"
    r"skrev|napisa[lł]\(?a?\)?|napsal\(a\)|kirjoitti|пишет|написал(?:\(?а\)?)?|كتب(?:ت)?|כתב(?:/ה|ה)?|"
    r"写道|寫道|のメール)\b|(?:تمت كتابة ما يلي بواسطة|מאת).{1,300}$",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"(?:On|Am|Den|Le|El|Il(?: giorno)?|Op|Em|Dne|W dniu|Em|At|בתאריך|ב-|في|بتاريخ|В|\d{1,4}[-./年])\s?\S",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*-{2,}\s?(?:Original(?: Message| Appointment)?|Urspr[üu]ngliche (?:Nachricht|Mail)|Originalnachricht|"
    r"Message d['’]origine|Mensaje original|Messaggio originale|Oorspronkelijk bericht|Mensagem original|"
    r"الرسالة الأصلية|هודעה מקורית|הודעה מקורית|Исходное сообщение|原始邮件|原始郵件)\s?-{2,}\s*$",
    re.IGNORECASE,
)
_FORWARD = re.compile(
    r"\s*(?:-{2,}\s?(?:Forwarded|Weitergeleitete?|Message transf[ée]r[ée]|Mensaje reenviado|Messaggio inoltrato|"
    r"Doorgestuurd|Mensagem encaminhada|رسالة (?:معاد توجيهها|مُعاد توجيهها|محولة)|"
    r"הודעה שהועברה|הודעה מועברת).{0,60}-{2,}|Begin forwarded message:|"
    r"Anfang der weitergeleiteten (?:Nachricht|E-Mail):|D[ée]but du message (?:r[ée]exp[ée]di[ée]|transf[ée]r[ée])\s?:|"
    r"Inizio messaggio inoltrato:|Inicio del mensaje reenviado:)\s*$",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"\s*\*?(?:From|Von|De|Da|Van|من|מאת|От|发件人|差出人)\s?\*?\s?[:：]\*?\s?\S", re.IGNORECASE
)
_HEADER = re.compile(
    r"\s*\*?(?:From|Sent|Date|To|Cc|Subject|Reply-To|Importance|Von|Gesendet|Datum|An|Betreff|De|Envoy[ée]|[ÀA]|Objet|"
    r"Enviado(?: el)?|Fecha|Para|Asunto|Da|Inviato|Data|A|Oggetto|Van|Verzonden|Aan|Onderwerp|"
    r"من|تاريخ الإرسال|التاريخ|أرسلت|تم الإرسال|إلى|نسخة|الموضوع|מאת|נשלח|תאריך|אל|עותק|נושא|"
    r"От|Отправлено|Кому|Тема|发件人|发送时间|收件人|主题)\s?\*?\s?[:：]",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"(?:Sent from (?:my|Mail for|Outlook|Yahoo|the)|Get Outlook for|Von meinem .{1,40} gesendet|Gesendet (?:von|mit)|"
    r"Envoy[ée] (?:de|depuis)(?: mon)?|Enviado (?:desde|do) (?:mi|meu)|Inviato (?:da|dal mio)|Verzonden (?:vanaf|met)|"
    r"أُ?رسلت? من|تم الإرسال من|נשלח מה|Отправлено с)",
    re.IGNORECASE,
)
_LIST_FOOTER = re.compile(r"_{30,}\s*$|-{30,}\s*$")


def split_text(text: str, *, is_forward: bool = False) -> tuple[Piece, ...]:
    """The pieces in their order; joined they are `text` again.

    What is forwarded is the matter of a mail, not its history, and stays body; `is_forward` says that the mail calls
    itself one, for programs that only put the old headers in front.
    """
    head, rest = text[:LOOKED_AT], text[LOOKED_AT:]
    lines = head.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    kinds = _quotes(lines, is_forward)
    _mark_signatures(lines, kinds)
    _mark_blanks(lines, kinds)
    return _joined([*lines, rest], [*kinds, kinds[-1]])


def to_read(pieces: Sequence[Piece], *, quoted: bool, signature: bool) -> str:
    """What the model reads: all of it when nothing else would be left."""
    wanted = {"body"} | ({"quoted"} if quoted else set()) | ({"signature"} if signature else set())
    read = "".join(piece.text for piece in pieces if piece.kind in wanted)
    if not read.strip():
        read = "".join(piece.text for piece in pieces)
    read = "\n".join(line.rstrip() for line in read.splitlines())
    return re.sub(r"\n{3,}", "\n\n", read).strip()


def _quotes(lines: Sequence[str], is_forward: bool) -> list[Kind]:
    kinds: list[Kind] = ["quoted" if _is_quoted(line) else "body" for line in lines]
    at = 0
    while at < len(lines):
        line = _bare(lines[at])
        if kinds[at] == "quoted" or not line.strip() or not _is_suspect(lines, at):
            at += 1
        elif _FORWARD.match(line):
            is_forward = True
            at += 1
        elif _SEPARATOR.match(line) or (_is_header_block(lines, at) and not is_forward):
            _mark(kinds, at if at == 0 or not _is_rule(lines[at - 1]) else at - 1, len(lines))
            break
        elif length := _attribution(lines, at, kinds):
            after = at + length
            is_marked = any(kinds[index] == "quoted" for index in range(after, min(len(lines), after + 3)))
            _mark(kinds, at, after if is_marked else len(lines))
            at = after if is_marked else len(lines)
        else:
            at += 1
    return kinds


def _is_suspect(lines: Sequence[str], at: int) -> bool:
    """A quick look: whatever tells a quote has dashes in its line, or a colon in it or in one of the next two."""
    return "--" in lines[at] or any(":" in line or "：" in line for line in lines[at : at + 3])


def _is_quoted(line: str) -> bool:
    return line.lstrip(" ")[:1] == ">" and len(line) - len(line.lstrip(" ")) <= 3


def _bare(line: str) -> str:
    return "" if len(line) > LONGEST_LINE else _BIDI.sub("", line)


def _is_rule(line: str) -> bool:
    return bool(re.match(r"\s*[_-]{10,}\s*$", line[:LONGEST_LINE]))


def _is_header_block(lines: Sequence[str], at: int) -> bool:
    """At least three header lines in a row, the first one From, as Outlook puts before what it quotes."""
    if not _FROM.match(_bare(lines[at])):
        return False
    block = [_bare(line) for line in lines[at : at + 8] if line.strip()]
    return sum(bool(_HEADER.match(line)) for line in block[:6]) >= 3


def _attribution(lines: Sequence[str], at: int, kinds: Sequence[Kind]) -> int:
    """How many lines from `at` say "On … somebody wrote:"; 0 when they do not."""
    text = ""
    for length in (1, 2, 3):
        if (
            at + length > len(lines)
            or kinds[at + length - 1] == "quoted"
            or not lines[at + length - 1].strip()
        ):
            return 0
        text = f"{text} {_bare(lines[at + length - 1]).strip()}".strip()
        if not text.endswith((":", "：")) or len(text) > LONGEST_LINE:
            continue
        if not _VERB.search(text):
            return 0
        has_date = bool(_STARTS.match(text) and re.search(r"\d", text))
        rest = [
            index for index in range(at + length, min(len(lines), at + length + 3)) if lines[index].strip()
        ]
        is_marked = bool(rest) and kinds[rest[0]] == "quoted"
        return length if is_marked or (has_date and length < 3) else 0
    return 0


def _mark(kinds: list[Kind], start: int, end: int) -> None:
    kinds[start:end] = ["quoted"] * (end - start)


def _mark_signatures(lines: Sequence[str], kinds: list[Kind]) -> None:
    """In each run of body: from a signature's first line to the run's end."""
    start = 0
    while start < len(lines):
        if kinds[start] != "body":
            start += 1
            continue
        end = start
        while end < len(lines) and kinds[end] == "body":
            end += 1
        at = _signature_start(lines, start, end)
        if at is not None:
            kinds[at:end] = ["signature"] * (end - at)
        start = end


def _signature_start(lines: Sequence[str], start: int, end: int) -> int | None:
    for at in range(max(start, end - LONGEST_SIGNATURE), end):
        line = lines[at][:LONGEST_LINE]
        shown = _BIDI.sub("", line).strip()
        if line.rstrip("\r\n") == "-- " or (shown in {"--", "—"} and end - at <= 15):
            return at
        if _LIST_FOOTER.match(shown) and end - at <= 8 and end == len(lines):
            return at
        if (
            _DEVICE.match(shown)
            and len(shown) < 120
            and sum(bool(each.strip()) for each in lines[at:end]) <= 3
        ):
            return at
    return None


def _mark_blanks(lines: Sequence[str], kinds: list[Kind]) -> None:
    """Empty lines after a quote or a signature belong to it."""
    for at in range(1, len(lines)):
        if kinds[at] == "body" and not lines[at].strip():
            kinds[at] = kinds[at - 1]


def _joined(lines: Sequence[str], kinds: Sequence[Kind]) -> tuple[Piece, ...]:
    runs = groupby(zip(kinds, lines, strict=True), key=itemgetter(0))
    pieces = (Piece(kind, "".join(line for _, line in run)) for kind, run in runs)
    return tuple(piece for piece in pieces if piece.text)
