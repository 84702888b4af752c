"""Where each acceptance test stands that needs no network.

A number stands for what a user may rely on; below it are the tests that prove it, by file and name. A test that is
renamed or removed is missed here. Numbers that need a service (1: the class API, 12: backends, 13: isolation) are
proven where they belong.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent.parent

ACCEPTANCE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "2 extraction: every trigger, dedupe, stable keys, limits, nobody waits": {
        "unit/test_reading.py": (
            "test_phrases_of_liking_and_disliking_become_preferences",
            "test_phrases_of_choosing_become_decisions",
            "test_phrases_of_routine_become_patterns",
            "test_a_key_is_category_and_slug",
            "test_the_same_fact_twice_in_a_message_is_one",
            "test_a_fact_has_at_most_500_characters",
            "test_of_a_very_long_message_the_end_is_read",
        ),
        "faces/test_formation.py": ("test_nobody_waits_for_a_model_that_takes_its_time",),
    },
    "3 injection: every place and class of model, nothing changed in place": {
        "unit/test_inject.py": (
            "test_what_stays_the_same_comes_first_and_the_rest_right_before_the_question",
            "test_in_front_or_in_the_system_message_that_is_there",
            "test_before_the_words_of_the_last_user_message",
            "test_nothing_is_lost_and_what_is_given_stays_as_it_is",
        ),
        "server/test_gateway_snapshots.py": (
            "test_requests_look_as_they_are_written_down",
            "test_over_twenty_turns_a_prompt_cache_keeps_what_it_has",
        ),
    },
    "4 settings: brought into form, recent, seen at once": {
        "unit/test_settings_lenient.py": ("test_what_a_gateway_is_given_is_brought_into_form",),
        "faces/test_stored_settings.py": (
            "test_a_gateway_s_words_change_what_is_found",
            "test_what_is_set_holds_at_once",
            "test_another_process_notices_within_a_second",
        ),
    },
    "5 lists: pages, offsets, beyond the end, a search and its counts": {
        "scenarios/test_acceptance_lists.py": (
            "test_pages_put_together_are_the_list_newest_first",
            "test_an_offset_wins_over_a_page_and_says_which_page_it_is",
            "test_beyond_the_end_there_is_nothing_and_the_counts_still_hold",
            "test_a_search_in_a_list_narrows_the_pages_and_the_counts",
        ),
    },
    "6 budget: the first beyond it is shown alone": {
        "scenarios/test_acceptance_lists.py": (
            "test_a_first_memory_beyond_the_budget_is_shown_alone",
            "test_what_fits_is_shown_in_order_and_never_more",
        ),
        "unit/test_planner.py": ("test_one_match_is_shown_even_when_it_is_larger_than_the_budget",),
    },
    "7 gate: every phrase, and what only sounds like it": {
        "unit/test_gate.py": (
            "test_questions_about_oneself_open_the_identity_layer",
            "test_a_wish_for_words_that_somebody_said_opens_the_transcript",
            "test_a_wish_for_an_exact_answer_recalls_nothing",
            "test_a_time_opens_the_episodes",
            "test_recall_verbs_open_the_pinned_facts",
            "test_what_is_the_users_opens_the_pinned_facts",
        ),
    },
    "8 sessions: silence, switching, closing, starting again, marking, dead letters, ingest, outcomes": {
        "faces/test_formation_sessions.py": (
            "test_a_session_is_distilled_after_silence_and_every_turn_starts_it_anew",
            "test_whoever_turns_to_another_session_leaves_the_one_before",
            "test_what_is_said_while_a_model_thinks_is_not_lost",
            "test_real_errors_count_and_the_third_is_the_last",
        ),
        "faces/test_formation_worker.py": (
            "test_closing_forms_what_was_said_one_by_one",
            "test_what_closing_has_no_time_for_is_done_after_the_next_start",
        ),
        "crash/test_kill_formation.py": ("test_what_was_queued_survives_a_kill_and_is_learned_once",),
        "faces/test_formation_ingest.py": ("test_ingesting_it_again_replaces_it",),
        "scenarios/test_acceptance_sessions.py": (
            "test_a_session_ends_in_the_word_for_it",
            "test_ingest_tells_the_same_word_and_says_ok_only_when_nothing_is_left",
            "test_words_without_a_session_and_a_memory_that_is_off_have_words_of_their_own",
            "test_ingesting_a_conversation_twice_leaves_one_of_everything",
        ),
    },
    "9 consolidation: the older stays, three episodes promote, eviction needs both, 0 days is for ever": {
        "faces/test_consolidate_merge.py": ("test_nearly_identical_episodes_become_one_the_older",),
        "faces/test_consolidate_promote.py": ("test_a_fact_that_three_recent_sessions_speak_of_gains_weight",),
        "faces/test_consolidate_evict.py": ("test_eviction_needs_both_and_has_to_be_wanted",),
        "faces/test_consolidate_prune.py": ("test_without_days_a_layer_is_kept_for_ever",),
    },
    "10 links: replaced for one, both ids and a reason, flip-flop, starting set, decisions, figures": {
        "scenarios/test_shared_preset.py": (
            "test_a_replacement_in_the_background_is_for_one_user_and_the_audit_has_both_ids",
            "test_what_was_said_earlier_replaces_nothing_whoever_holds_it",
            "test_a_newcomer_sees_the_starting_set_with_four_memories_and_not_with_five",
            "test_every_background_run_logs_and_keeps_its_decisions",
            "test_the_four_figures_after_a_day_of_use",
        ),
    },
    "14 views: the same data in every one of them": {
        "scenarios/test_acceptance_views.py": (
            "test_a_companion_s_layers_are_the_rows_that_lists_show",
            "test_shared_vectors_and_who_holds_them_are_the_same_facts",
            "test_what_replaced_what_is_the_same_in_the_view_and_in_the_verb",
            "test_the_history_of_a_fact_ends_in_what_every_view_shows",
            "test_a_gateway_s_entries_are_facts_and_episodes_with_kind_and_session",
            "test_no_view_shows_what_was_put_aside_or_deleted",
        ),
    },
    "invariants: whatever is done": {
        "scenarios/test_invariants.py": ("test_whatever_is_said_and_done_the_invariants_hold",),
        "scenarios/test_stateful.py": ("test_any_sequence_of_changes_is_told_by_its_events_and_can_be_taken_back",),
    },
}


@cache
def functions(path: str) -> frozenset[str]:
    """The tests of a file that are always run."""
    found = ast.parse((TESTS / path).read_text()).body
    tests = [node for node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return frozenset(node.name for node in tests if not any("skip" in ast.unparse(one) for one in node.decorator_list))


@pytest.mark.parametrize("promise", ACCEPTANCE)
def test_every_promise_has_its_tests(promise: str) -> None:
    missing = [
        f"{path}::{name}"
        for path, names in ACCEPTANCE[promise].items()
        for name in names
        if name not in functions(path)
    ]
    assert not missing


def test_11_every_pitfall_is_a_test() -> None:
    with (TESTS / "requirements.toml").open("rb") as file:
        table = tomllib.load(file)
    pitfalls = {name: entry for name, entry in table.items() if name.startswith("R-") and "." not in name}
    assert len(pitfalls) == 38
    assert not [name for name, entry in pitfalls.items() if entry.get("planned")]
