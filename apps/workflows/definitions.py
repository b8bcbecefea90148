"""The workflow and its questions as a person writes them in a file, checked to what every endpoint accepts.

`read_definition` refuses with `InvalidInput`, whose paths are those of the file ("questions[0].options[3].id").
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, StringConstraints

from apps.clef.errors import RequestRefused, RequestTooLarge
from apps.clef.types import ChoiceQuestion, Description, ModelRequest, NoulQuestion, ScoreQuestion
from apps.clef.types import Question as ClefQuestion
from apps.clef.wire import to_body
from apps.core.errors import FieldProblem, InvalidInput
from apps.workflows.models import Question, QuestionSet
from apps.workflows.parts import (
    Examples,
    GuidelineText,
    Instructions,
    Name,
    Part,
    Prose,
    printable,
    read_part,
    storable,
    written,
)

MAX_QUESTIONS_BYTES = 200_000
"""What the questions may take of a request; hosted endpoints take 256,000 bytes with the item."""


# Reads every zone's file, hundreds of them.
_time_zones = cache(available_timezones)


def _time_zone(name: str) -> str:
    if name not in _time_zones():
        raise ValueError("is no time zone, such as Europe/Berlin")
    return name


QuestionId = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9_.-]{1,100}\z")]
OptionId = Annotated[
    str, StringConstraints(min_length=1, max_length=100), AfterValidator(written), AfterValidator(printable)
]


class WorkflowPart(Part):
    slug: Annotated[str, StringConstraints(pattern=r"\A[a-z0-9][a-z0-9-]{0,59}\z")]
    name: Name
    description: Annotated[str, StringConstraints(max_length=500), AfterValidator(storable)] = ""
    time_zone: Annotated[str, AfterValidator(_time_zone)] = "UTC"
    currency: Annotated[str, StringConstraints(pattern=r"\A[A-Z]{3}\z")] = "EUR"
    content_language: Annotated[
        str, StringConstraints(max_length=35, pattern=r"\A[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\z")
    ] = "en"
    reads_quoted: bool = False
    reads_signature: bool = False
    reads_images: bool = True
    fits_images: bool = True


class OptionPart(Part):
    id: OptionId
    name: Name
    description: Prose = ""
    examples: Examples = Field(default_factory=list)
    tag: Annotated[str, StringConstraints(max_length=60), AfterValidator(written)] | None = None
    guideline: GuidelineText = ""


class _QuestionPart(Part):
    id: QuestionId
    instructions: Instructions
    guideline: GuidelineText = ""


class ChoicePart(_QuestionPart):
    kind: Literal["choice"]
    routing: bool = False
    none_of_these: str | None = None
    options: Annotated[list[OptionPart], Field(min_length=2, max_length=255)]

    def guidelines(self) -> dict[str, str]:
        return {"": self.guideline, **{option.id: option.guideline for option in self.options}}

    def to_options(self) -> list[dict[str, Any]]:
        return [
            _option(option.id, option.name, option.description or option.name, option.examples)
            for option in self.options
        ]

    def problems(self, path: str) -> Iterator[FieldProblem]:
        yield from _alike((f"{path}.options[{i}].id", option.id) for i, option in enumerate(self.options))
        yield from _alike((f"{path}.options[{i}].name", option.name) for i, option in enumerate(self.options))
        if self.none_of_these is not None and self.none_of_these not in {each.id for each in self.options}:
            yield FieldProblem(f"{path}.none_of_these", "is no option of this question")


class NoulPart(_QuestionPart):
    kind: Literal["noul"]
    yes: Prose = ""
    no: Prose = ""
    yes_examples: Examples = Field(default_factory=list)
    no_examples: Examples = Field(default_factory=list)
    yes_guideline: GuidelineText = ""
    no_guideline: GuidelineText = ""

    def guidelines(self) -> dict[str, str]:
        return {"": self.guideline, "true": self.yes_guideline, "false": self.no_guideline}

    def to_options(self) -> list[dict[str, Any]]:
        return [
            _option("true", "Yes", self.yes, self.yes_examples),
            _option("false", "No", self.no, self.no_examples),
        ]

    def problems(self, path: str) -> Iterator[FieldProblem]:
        sides = (("yes", self.yes, self.yes_examples), ("no", self.no, self.no_examples))
        for side, description, examples in sides:
            if examples and not description.strip():
                yield FieldProblem(f"{path}.{side}", f"must be given when there are {side}_examples")


class ScorePart(_QuestionPart):
    kind: Literal["score"]
    levels: Annotated[list[Name], Field(min_length=2, max_length=10)]
    level_examples: list[Examples] = Field(default_factory=list, max_length=10)
    level_guidelines: list[GuidelineText] = Field(default_factory=list, max_length=10)

    def guidelines(self) -> dict[str, str]:
        return {"": self.guideline, **{str(level): text for level, text in enumerate(self.level_guidelines)}}

    def to_options(self) -> list[dict[str, Any]]:
        examples = self.level_examples or [[] for _ in self.levels]
        return [_option(str(level), name, name, examples[level]) for level, name in enumerate(self.levels)]

    def problems(self, path: str) -> Iterator[FieldProblem]:
        yield from _alike((f"{path}.levels[{i}]", level) for i, level in enumerate(self.levels))
        if self.level_examples and len(self.level_examples) != len(self.levels):
            yield FieldProblem(f"{path}.level_examples", "must have one list for each level")
        if self.level_guidelines and len(self.level_guidelines) != len(self.levels):
            yield FieldProblem(f"{path}.level_guidelines", "must have one text for each level")


class Definition(Part):
    """The `[workflow]` and `[[questions]]` of a file; make one with `read_definition`."""

    workflow: WorkflowPart
    questions: Annotated[
        list[Annotated[ChoicePart | NoulPart | ScorePart, Field(discriminator="kind")]],
        Field(min_length=1, max_length=64),
    ]

    @property
    def tags(self) -> dict[str, str]:
        """What the built-in action writes outside, by label of the routing question."""
        return {
            option.id: option.tag
            for question in self.questions
            if isinstance(question, ChoicePart) and question.routing
            for option in question.options
            if option.tag is not None
        }

    @property
    def guidelines(self) -> dict[tuple[str, str], str]:
        """What people read, by question and option; "" is the question as a whole. Empty texts are left out."""
        return {
            (part.id, option): text
            for part in self.questions
            for option, text in part.guidelines().items()
            if text.strip()
        }

    def to_questions(self) -> list[Question]:
        """Rows without a question set, in order; `tag` is left out because no model reads it."""
        return [
            Question(
                key=part.id,
                position=position,
                kind=part.kind,
                is_routing=isinstance(part, ChoicePart) and part.routing,
                instructions=part.instructions,
                options=part.to_options(),
                none_of_these=(part.none_of_these or "") if isinstance(part, ChoicePart) else "",
            )
            for position, part in enumerate(self.questions)
        ]


def read_definition(data: Mapping[str, Any]) -> Definition:
    """Raises InvalidInput naming every field that is wrong. `data` holds `workflow` and `questions`, no more."""
    definition = read_part(Definition, data, whole="file")
    problems = [*_question_problems(definition)]
    if problems:
        raise InvalidInput(*problems)
    _check_request(definition)
    return definition


def _question_problems(definition: Definition) -> Iterator[FieldProblem]:
    yield from _alike((f"questions[{i}].id", part.id) for i, part in enumerate(definition.questions))
    routing = [part for part in definition.questions if isinstance(part, ChoicePart) and part.routing]
    if len(routing) != 1:
        yield FieldProblem("questions", f"exactly one choice must have routing = true, not {len(routing)}")
    for index, part in enumerate(definition.questions):
        yield from part.problems(f"questions[{index}]")
        if isinstance(part, ChoicePart) and not part.routing:
            for at, option in enumerate(part.options):
                if option.tag is not None:
                    yield FieldProblem(
                        f"questions[{index}].options[{at}].tag", "only the routing question's answers act"
                    )


def _alike(entries: Iterable[tuple[str, str]]) -> Iterator[FieldProblem]:
    """A problem for each text that a proxy, or a person, could take for an earlier one."""
    seen: dict[str, str] = {}
    for path, text in entries:
        folded = unicodedata.normalize("NFKC", text).casefold()
        if folded in seen:
            yield FieldProblem(path, f"looks the same as {seen[folded]}")
        seen.setdefault(folded, path)


def _check_request(definition: Definition) -> None:
    """The client's own check of what can be sent, so that a file is refused and not its every item."""
    questions = tuple(map(to_clef_question, definition.to_questions()))
    try:
        to_body(ModelRequest(state="", questions=questions), model="clef", max_bytes=MAX_QUESTIONS_BYTES)
    except RequestTooLarge as error:
        raise InvalidInput(
            FieldProblem(
                "questions",
                f"take {error.size_bytes:,} bytes of a request, at most {MAX_QUESTIONS_BYTES:,} may",
            )
        ) from None
    except RequestRefused as error:
        raise InvalidInput(FieldProblem("questions", str(error))) from None


def _option(option_id: str, name: str, description: str, examples: list[str]) -> dict[str, Any]:
    return {"id": option_id, "name": name, "description": description, "examples": examples}


def to_clef_questions(question_set: QuestionSet) -> tuple[ClefQuestion, ...]:
    """What the model is asked, in the order of the version; one query unless questions are prefetched."""
    return tuple(map(to_clef_question, question_set.questions.all()))


def to_clef_question(question: Question) -> ClefQuestion:
    wire = {option["id"]: _description(option) for option in question.options}
    if question.kind == Question.Kind.CHOICE:
        return ChoiceQuestion(question.key, question.instructions, wire)
    if question.kind == Question.Kind.NOUL:
        return NoulQuestion(question.key, question.instructions, yes=wire["true"], no=wire["false"])
    return ScoreQuestion(question.key, question.instructions, tuple(wire.values()))


def _description(option: Mapping[str, Any]) -> Description:
    """A string alone where possible: some servers read nothing else."""
    if option["examples"]:
        return {"description": option["description"], "examples": option["examples"]}
    description: str = option["description"]
    return description or None
