from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.model.unicode_forms import Form, normalize_unicode

FORMS: list[Form] = ["NFC", "NFD", "NFKC", "NFKD"]


@pytest.mark.parametrize("form", FORMS)
@given(st.text(max_size=29))
def test_a_text_without_long_runs_of_marks_has_the_form_of_the_standard(form: Form, text: str) -> None:
    assert normalize_unicode(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_a_long_run_of_marks_is_normalized_thirty_at_a_time(form: Form) -> None:
    marks = "\u0315\u0301\u0327" * 40
    thirties = ["e" + marks[:30], *(marks[at : at + 30] for at in range(30, len(marks), 30))]
    assert normalize_unicode(form, "e" + marks) == "".join(unicodedata.normalize(form, one) for one in thirties)
