"""What a trial's numbers say in plain words, and what so few examples cannot say (recalibration.md section 5.1)."""

from __future__ import annotations

from apps.calibration.trials.services import ASKED_FOR, NOWHERE_ASKED_FOR
from apps.stats.intervals import audits_needed, upper_bound
from apps.stats.paired import Pairs

TARGET, DELTA = 0.05, 0.05


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def wrong_sentence(wrong: int, n: int) -> str:
    """ "0 wrong of 50: the true error could still be up to 5.8%." The bound is one-sided, exact, at 95%."""
    if n == 0:
        return "No answers yet: the error is unknown."
    return (
        f"{wrong} wrong of {n}: the true error could still be up to {percent(upper_bound(wrong, n, DELTA))}."
    )


def pair_sentence(first: str, second: str, pairs: Pairs, p: float) -> str:
    """Who was right where the other was wrong, and whether that tells them apart (p < 0.05)."""
    if pairs.n == 0:
        return f"No example was answered by both {first} and {second}."
    counts = (
        f"{first} was right where {second} was wrong in {pairs.first_only}, "
        f"the reverse in {pairs.second_only} of {pairs.n}"
    )
    if p >= DELTA:
        few = "so few examples cannot tell them apart" if pairs.n < 200 else "that does not tell them apart"
        return f"{counts}: {few} ({_p(p)})."
    better = first if pairs.first_only > pairs.second_only else second
    return f"{counts}: on examples like these {better} does better ({_p(p)})."


def what_it_cannot_show(n: int, nowhere: int, *, has_option: bool) -> tuple[str, ...]:
    """`n` are the examples that belong somewhere. `has_option`: the question has an answer for what belongs nowhere."""
    sentences = []
    if n < ASKED_FOR:
        sentences.append(
            f"Of those that belong somewhere there are {n}: fewer than the {ASKED_FOR} that this test asks for."
        )
    if n:
        seen = 1 - (1 - TARGET) ** n
        rarer = 1 - (1 - TARGET / 5) ** n
        sentences.append(
            f"A mistake that happens in 5% of messages shows up at least once in {n} with {seen:.0%} chance, "
            f"one that happens in 1% with {rarer:.0%}."
        )
    needed = audits_needed(TARGET, DELTA)
    if n < needed:
        sentences.append(
            f"So few cannot certify an error of 5% at 95% confidence, not even without a mistake: {needed} are needed."
        )
    if n <= 2 * ASKED_FOR:
        sentences.append(
            "They show gross failure. They do not set thresholds for single labels, nor compare what differs by less "
            "than about 15 points."
        )
    if nowhere < NOWHERE_ASKED_FOR:
        sentences.append(
            f"{nowhere} of the examples belong nowhere; {NOWHERE_ASKED_FOR} are asked for, because models differ most "
            "in what they make of those."
        )
    if nowhere and not has_option:
        sentences.append("The question has no answer for what belongs nowhere: every answer to it is wrong.")
    return tuple(sentences)


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.995 else "p = 1.0"
