"""A trial's results as lines of text, for the shell."""

from __future__ import annotations

from collections.abc import Iterator

from apps.calibration.trials.results import ModelFacts, ModelOnQuestion, QuestionResult, TrialResult
from apps.calibration.trials.words import percent
from apps.stats.intervals import Gap
from apps.stats.rates import Rate


def report_lines(result: TrialResult) -> Iterator[str]:
    """What files and servers say in it is made printable: nothing steers a terminal."""
    for line in _lines(result):
        yield "".join(each if each.isprintable() else "�" for each in line)


def _lines(result: TrialResult) -> Iterator[str]:
    yield f"{result.trial.name}: {result.examples} examples, {result.nowhere} of which belong nowhere"
    yield from (f"  {sentence}" for sentence in result.caveats)
    for question in result.questions:
        if question.labelled:
            yield ""
            yield from _on_question(question)
    yield ""
    yield "Time and cost of asking"
    for each in result.facts:
        yield from _facts(each)


def _on_question(result: QuestionResult) -> Iterator[str]:
    yield f"{result.question.key} ({result.question.kind}, {result.labelled} labelled)"
    for each in result.models:
        yield from _on_model(each, result.question.is_routing)
    yield from (f"  {pair.sentence}{_gap(pair.gap)}" for pair in result.comparisons)


def _gap(gap: Gap | None) -> str:
    if gap is None:
        return ""
    return f" Difference {percent(gap.value)}, 95% interval {percent(gap.low)} to {percent(gap.high)}."


def _on_model(each: ModelOnQuestion, is_routing: bool) -> Iterator[str]:
    parts = [f"right {_rate(each.right)}"]
    if is_routing:
        parts.append(f"right on what belongs nowhere {_rate(each.nowhere)}")
    if each.within_one is not None:
        parts.append(f"at most one level off {_rate(each.within_one)}")
    if each.cost_per_item is not None:
        parts.append(f"cost per item {each.cost_per_item:.2f}")
    if each.unanswered:
        parts.append(f"{each.unanswered} unanswered")
    yield f"  {each.model.name}: {'; '.join(parts)}"
    yield f"    {each.sentence}"
    for kind in each.disagreements:
        cost = "" if kind.cost is None else f", cost {kind.cost:.2f}"
        named = ", ".join(kind.examples)
        yield f"    said {kind.predicted}, true {kind.true}: {kind.count}{cost} ({named})"


def _rate(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return f"unknown ({rate.reason})"
    counts = f"{rate.numerator:g} of {rate.denominator:g}"
    return f"{counts} = {percent(rate.value)} (95% interval {percent(rate.low)} to {percent(rate.high)})"


def _facts(each: ModelFacts) -> Iterator[str]:
    pace, parts = each.pace, []
    if pace.p50_s is not None and pace.p95_s is not None:
        parts.append(f"p50 {pace.p50_s:.3f} s, p95 {pace.p95_s:.3f} s over {pace.timed} calls from here")
    if pace.tokens_each is not None:
        parts.append(f"{pace.tokens_each:.0f} tokens each")
    if pace.cost_per_thousand is not None:
        parts.append(f"{pace.cost_per_thousand:.4f} USD per thousand")
    if each.confidence:
        parts.append(f"its confidence: {each.confidence}")
    yield f"  {each.model.name}: {'; '.join(parts) or 'answers that were given'}"
    yield from (f"    {times} without an answer: {error}" for error, times in each.errors)
