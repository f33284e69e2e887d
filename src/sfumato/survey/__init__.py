"""The built-in data set: a simulated survey of people, with its public schema."""

from importlib.resources import files

from sfumato.survey.simulate import simulate

__all__ = ["simulate", "survey_schema_text"]


def survey_schema_text() -> str:
    """The public schema of the survey, as JSON text."""
    return files(__name__).joinpath("survey.schema.json").read_text(encoding="utf-8")
