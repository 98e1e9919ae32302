"""What the seeds and the protocol demand, as data: each demand with its source and the tests that show it.

"P" is the protocol's own page with its section, "000" to "004" are the seeds, "CLI" is what the command promises and
"REL" what docs/reliability.md does, "MCP" what docs/mcp.md and docs/mcp-hosts.md do. A test is named by its file under
`tests/` (without `test_` and `.py`) and its name (without `test_`).
`test_requirements.py` fails where a demand has no test, or names one that isn't there.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One demand."""

    source: str
    demand: str
    shown_by: tuple[str, ...]


def needs(source: str, demand: str, *shown_by: str) -> Requirement:
    return Requirement(source, demand, shown_by)


REQUIREMENTS = (
    # The wire
    needs(
        "P 1",
        "What we send carries the union of the fields that the seeds show, with their names and types.",
        "protocol/sent::a_message_has_all_fields_of_its_examples_with_their_types",
        "protocol/sent::every_message_type_occurs_in_the_recorded_traffic",
    ),
    needs(
        "P 1",
        "No field changes its type between messages.",
        "protocol/sent::no_field_changes_its_type_between_messages",
    ),
    needs(
        "P 1",
        "What is refused is refused with the field, what was expected and what came.",
        "protocol/checks::a_wrong_field_says_what_was_expected_and_what_came",
        "bad_input::correct_requests_with_fields_removed_replaced_or_added",
    ),
    needs(
        "P 1",
        "We never crash, hang or guess, whatever arrives.",
        "bad_input::arbitrary_bytes",
        "bad_input::arbitrary_json",
        "bad_input::arbitrary_frames",
        "bad_input::arbitrary_batches",
        "bad_input::nasty_bodies",
        "bad_input::anything_over_http",
    ),
    needs(
        "000 Messages",
        "Every example of the seeds is read without loss.",
        "protocol/golden::an_example_is_read_without_loss",
    ),
    needs("004 Message Types", "All message types are known.", "protocol/messages::there_are_22_message_types"),
    needs(
        "002 1.4",
        "A frame is JSON-RPC 2.0 with method, params and id.",
        "transport/jsonrpc::what_is_no_object_with_a_call_is_an_invalid_request",
        "transport/jsonrpc::another_version_of_json_rpc_is_an_invalid_request_with_the_id",
    ),
    needs("P 2", "An id comes back as it was.", "transport/jsonrpc::an_id_comes_back_as_it_was"),
    needs(
        "P 2",
        "A notification is answered 202 with no body.",
        "transport/http_server::a_notification_is_answered_with_202_and_no_body",
        "transport/jsonrpc::a_notification_is_carried_out_and_not_answered",
    ),
    needs("P 2", "Batches are answered as batches.", "transport/jsonrpc::a_batch_is_answered_as_a_batch"),
    needs(
        "P 2",
        "A body over 1 MiB is answered 413 and never parsed.",
        "transport/http_server::a_larger_body_is_answered_413_and_never_parsed",
        "transport/http_server::a_larger_body_in_chunks_is_answered_413_as_well",
    ),
    needs("P 2", "-32700: not JSON.", "transport/jsonrpc::what_is_not_json_is_a_parse_error"),
    needs(
        "P 2",
        "-32601: an unknown method, with the list of known ones.",
        "transport/jsonrpc::an_unknown_method_is_answered_with_the_list_of_known_ones",
    ),
    needs("P 2", "-32602: params is not an object.", "transport/jsonrpc::params_that_are_no_object_are_invalid"),
    needs(
        "P 2",
        "What the league refuses is a result with a LEAGUE_ERROR.",
        "transport/dispatch::a_refusal_is_a_result_with_a_league_error",
    ),
    needs(
        "P 2",
        "GET /health answers on every agent: role, id, lifecycle state, version.",
        "arena/hosting::every_agent_answers_health_on_its_own_port_until_it_is_stopped",
        "transport/http_server::health_tells_role_id_state_and_version",
    ),
    needs(
        "P 3", "The methods, their messages, limits and callers.", "protocol/methods::the_table_is_that_of_the_protocol"
    ),
    needs(
        "P 3", "Request ids that we send are integers.", "protocol/sent::every_request_that_we_send_has_an_integer_id"
    ),
    needs(
        "P 3",
        "START_MATCH carries all that a referee must know.",
        "protocol/sent::start_match_carries_all_that_a_referee_must_know",
        "league/conductor::start_match_tells_a_referee_all_it_needs",
    ),
    needs(
        "P 3",
        "The steps of a match answer only to the manager.",
        "referee/tools::the_steps_of_a_match_answer_only_to_the_manager",
    ),
    needs(
        "P 4 Order of checks",
        "Checks come in the stated order, and all missing fields are named at once.",
        "protocol/checks::a_message_with_several_faults_is_refused_for_the_first",
        "protocol/checks::all_missing_envelope_fields_are_named_at_once",
        "bad_input::the_first_of_several_faults_is_told_in_the_order_of_the_protocol",
    ),
    needs(
        "002 2.4.2",
        "Timestamps are in UTC; anything else is E021.",
        "protocol/timestamps::iso_8601_in_utc_is_read",
        "protocol/timestamps::anything_else_is_refused_with_e021",
        "protocol/sent::every_timestamp_that_we_send_is_in_the_one_form",
    ),
    needs(
        "002 2.4.4",
        "A sender is league_manager, referee:ID or player:ID.",
        "protocol/envelope::a_sender_is_read_and_written_again",
        "protocol/checks::a_sender_without_a_role_is_refused_with_e002",
    ),
    needs(
        "002 2.10",
        "Versions older than 2.0.0, or another protocol, are E018.",
        "league/roster::an_agent_with_an_older_protocol_version_is_refused_with_e018",
        "protocol/checks::an_unknown_protocol_is_refused_with_e018",
    ),
    needs(
        "P 4",
        "Every reply repeats its request's conversation_id.",
        "protocol/sent::every_reply_repeats_the_conversation_of_its_request",
    ),
    needs(
        "P 4 Codes",
        "The error codes and names.",
        "protocol/errors::the_codes_and_their_names_are_those_of_the_protocol",
    ),
    needs(
        "P 4 Error messages",
        "An error has code, name twice, sentence, context and retryable.",
        "protocol/errors::a_refusal_travels_with_name_sentence_context_and_retryable",
        "protocol/sent::an_error_message_has_the_name_twice_and_the_sentence_beside_it",
    ),
    needs(
        "P 4 Error messages",
        "A token's value never appears in context, in a log or in a match file.",
        "bad_input::a_token_never_comes_back_in_an_error",
        "transport/log::a_token_is_left_out_at_any_depth",
        "cli/run::no_token_is_in_any_file_but_its_own",
    ),
    needs(
        "004",
        "The schemas in docs/schemas are those of the code, and everything sent is valid by them.",
        "protocol/schemas::a_schema_file_is_what_the_code_says",
        "protocol/schemas::everything_that_our_agents_send_is_valid",
    ),
    # Registration
    needs(
        "003 8.3, 8.4",
        "Ids are given in order of registration; a free id that is asked for is given.",
        "league/roster::players_and_referees_are_numbered_in_order_of_registration",
        "league/roster::a_free_id_of_the_right_form_is_given_to_who_asks_for_it",
        "league/roster::p100_comes_after_p99",
    ),
    needs("P 4", "Rejected: Invalid MCP endpoint.", "league/roster::an_invalid_endpoint_is_rejected"),
    needs(
        "P 4",
        "Rejected: Unsupported game type.",
        "league/roster::an_agent_that_does_not_play_the_leagues_game_is_rejected",
    ),
    needs("P 4", "Rejected: Duplicate display name.", "league/roster::a_name_that_is_taken_is_rejected"),
    needs("P 4", "Rejected: Registration closed.", "league/roster::a_new_agent_is_rejected_after_the_start"),
    needs("P 4", "Rejected: League full.", "league/roster::a_full_league_rejects_players_and_still_takes_referees"),
    needs(
        "P 4 Coming back",
        "With its own valid token an agent registers again under its old id, at any time, also with a new endpoint.",
        "league/roster::a_player_with_its_token_comes_back_under_its_old_id",
        "league/roster::a_player_with_its_token_comes_back_after_the_start_with_a_new_endpoint_and_name",
    ),
    needs(
        "P 5",
        "Tokens name their owner, hold 32 random bytes and are kept only as a hash.",
        "league/roster::a_token_names_its_owner_and_holds_at_least_32_random_bytes",
        "league/roster::a_token_is_kept_only_as_a_hash",
    ),
    needs(
        "002 2.4.5",
        "After registration every message to the manager needs the token: E011 without, E012 with another's.",
        "league/gate::a_call_without_token_is_refused_with_e011",
        "league/gate::a_token_of_somebody_else_is_refused_with_e012",
        "league/gate::an_invented_token_is_refused_with_e012",
    ),
    needs(
        "000 Errors",
        "An unregistered player is E005, an unregistered referee E013.",
        "league/gate::with_tokens_turned_off_an_unknown_sender_is_refused",
        "league/gate::a_player_that_reports_a_match_is_refused_with_e013",
    ),
    # The league
    needs(
        "003 Table 16",
        "The board for four players.",
        "league/scheduler::the_board_for_four_is_table_16_of_seed_003",
    ),
    needs(
        "P 4 Board",
        "For every n each pair meets once, nobody twice in a round, sides balanced to within one.",
        "league/scheduler::every_pair_meets_exactly_once",
        "league/scheduler::nobody_plays_twice_in_a_round_and_an_odd_number_gives_one_bye",
        "league/scheduler::everybody_is_player_a_as_often_as_player_b_to_within_one",
    ),
    needs(
        "P 4",
        "matches_per_round splits rounds.",
        "league/scheduler::matches_per_round_splits_rounds_and_loses_nothing",
    ),
    needs(
        "003 8.6-8.9",
        "Announcement, standings, end of round and end of the league are told to all, in order.",
        "league/announcer::everybody_is_told_everything_in_order",
    ),
    needs(
        "P 3",
        "Only the referees' copy of an announcement carries the players' endpoints.",
        "league/announcer::only_the_referees_copy_carries_the_players_addresses",
    ),
    needs(
        "P 4",
        "ROUND_COMPLETED has both counts, the next round (null after the last) and a summary.",
        "league/announcer::round_completed_has_both_counts_the_next_round_and_a_summary",
    ),
    needs(
        "000 referee_meta",
        "No referee gets more matches at once than max_concurrent_matches.",
        "league/conductor::no_referee_ever_runs_more_matches_than_it_can",
    ),
    needs(
        "001 Load Balancing",
        "Referees are chosen round robin, by least connections or by weight.",
        "league/assignment::least_connections_is_the_least_busy_with_a_free_place",
        "league/assignment::round_robin_goes_on_where_the_last_round_stopped",
        "league/assignment::weighted_shares_in_proportion_to_capacity",
    ),
    needs(
        "000 Scoring",
        "3 points for a win, 1 for a draw, 0 for a loss or technical loss, as the league file says.",
        "league/standings::a_win_is_three_points_and_a_loss_none",
        "league/standings::a_draw_is_one_point_each",
        "league/standings::points_are_those_of_the_league_file",
    ),
    needs(
        "P 4 Ranking",
        "Points, then the tiebreakers in order, then the player's id.",
        "league/standings::tiebreakers_are_used_in_the_order_of_the_league_file",
        "league/standings::the_last_word_has_the_player_id_by_number",
    ),
    needs(
        "P 4",
        "A report sent twice is acknowledged and changes nothing; a different one is E002 and logged.",
        "league/handlers::a_report_that_comes_twice_is_acknowledged_and_changes_nothing",
        "league/handlers::a_different_result_for_a_finished_match_is_refused_with_e002_and_logged",
    ),
    needs(
        "P 5",
        "Results are taken only from the referee the match was given to.",
        "league/handlers::a_report_of_another_referee_changes_nothing",
    ),
    needs(
        "000 Query types",
        "All four queries are answered; GET_STANDINGS has the standings at the top.",
        "protocol/sent::all_four_queries_are_answered_and_standings_stand_at_the_top",
        "league/queries::standings_stand_at_the_top_just_as_in_the_update",
    ),
    needs(
        "002 2.8",
        "Agents go through INIT, REGISTERED, ACTIVE, SUSPENDED and SHUTDOWN.",
        "league/agents::an_agent_goes_only_where_its_life_leads",
        "players/player::the_state_of_the_player_follows_its_life",
        "referee/tools::the_state_of_the_referee_follows_its_life",
    ),
    needs(
        "P 4 Circuit breaker",
        "Five failures in a row suspend an agent, its matches are lost at once, a probe brings it back.",
        "arena/faulty_players::the_hung_player_is_suspended_after_five_failures_in_a_row",
        "arena/faulty_players::a_suspended_player_costs_no_calls_before_game_over",
        "league/prober::an_agent_that_answers_the_probe_is_active_again",
    ),
    # A match
    needs(
        "000 Match States",
        "WAITING_FOR_PLAYERS, COLLECTING_CHOICES, DRAWING_NUMBER, FINISHED.",
        "referee/match::a_match_goes_through_the_states_of_the_seeds_in_order",
    ),
    needs(
        "000 Rules 3", "Choices are made at the same time and hidden.", "referee/match::both_are_asked_at_the_same_time"
    ),
    needs(
        "000 Rules 3",
        "Nobody can read a choice from the referee while the match runs.",
        "referee/tools::while_a_match_runs_its_state_shows_no_choice_to_anybody",
    ),
    needs(
        "000 Rules 4",
        "The number is drawn uniformly from 1 to 10.",
        "games/even_odd::the_shipped_registry_draws_one_to_ten_all_alike",
        "games/draw::draws_are_uniform_over_the_matches_of_a_league",
    ),
    needs(
        "000 Rules 5-7",
        "Who was right wins; both right or both wrong is a draw.",
        "games/even_odd::the_one_who_was_right_wins_and_equal_choices_draw",
    ),
    needs(
        "000 CRITICAL",
        "parity_choice is exactly even or odd; anything else is E004.",
        "protocol/messages::a_choice_is_even_or_odd_to_the_letter",
        "referee/calls::a_bad_choice_is_told_with_its_code_and_asked_again_at_once_three_times_in_all",
    ),
    needs(
        "002 2.7",
        "Each kind of message has its limit, and the limit really cuts the call.",
        "referee/registration::over_http_a_deadline_really_cuts_the_call_of_a_hung_player",
        "referee/calls::a_silent_player_is_cut_off_at_the_limit_and_given_growing_time",
    ),
    needs(
        "002 2.9.4",
        "Three attempts in all for E001 and E009, with growing waits and jitter, then technical loss.",
        "referee/calls::a_dead_player_is_tried_again_after_growing_waits_with_e009",
        "referee/calls::the_waits_differ_by_a_jitter_of_up_to_a_tenth",
        "referee/match::who_fails_loses_technically_and_the_other_wins",
    ),
    needs(
        "P 4 GAME_ERROR",
        "After each failure a GAME_ERROR with every field.",
        "referee/calls::a_game_error_has_every_field_of_the_protocol",
        "arena/faulty_players::every_failure_is_told_with_a_game_error",
    ),
    needs(
        "P 4",
        "A declined or unanswered invitation loses technically.",
        "referee/match::who_fails_loses_technically_and_the_other_wins",
    ),
    needs(
        "P 4",
        "Where both fail nobody wins and nobody scores.",
        "referee/match::where_both_fail_nobody_wins_and_nobody_scores",
    ),
    needs(
        "P 4",
        "After a technical loss nothing was drawn, and GAME_OVER goes to both all the same.",
        "protocol/sent::after_a_technical_loss_the_other_player_has_won_and_nothing_was_drawn",
        "arena/faulty_players::both_players_hear_the_end_of_every_match",
    ),
    needs(
        "003 8.7.6",
        "The referee reports the result, again until it is acknowledged.",
        "referee/report::a_report_is_sent_again_until_it_is_acknowledged",
    ),
    needs(
        "P 5 Fair draw",
        "The draw follows from a seed whose hash was shown before the first question.",
        "referee/match::the_draw_follows_from_a_seed_that_was_committed_before_the_first_question",
        "games/draw::anybody_can_work_out_the_draw_from_the_revealed_seed",
    ),
    needs(
        "P 5",
        "A referee's league token is shown to nobody but the manager.",
        "protocol/sent::a_referee_shows_its_league_token_to_nobody_but_the_manager",
    ),
    needs(
        "002 2.1.1",
        "A new game changes nothing else.",
        "games/new_game::a_league_of_a_game_by_turns_is_played_to_its_end",
        "games/game_contract::every_registered_game_keeps_the_contract",
    ),
    # Players
    needs(
        "001 Agent Components",
        "Sensors, decision and actuators are apart.",
        "players/player::sensors_decision_and_actuators_know_nothing_of_each_other",
    ),
    needs(
        "001 State management",
        "History and opponent model are kept, saved and loaded.",
        "players/history::a_finished_match_is_in_the_history_with_statistics_and_opponent_model",
        "players/history::the_history_is_loaded_after_a_restart_and_goes_on",
    ),
    needs(
        "001 Must Support",
        "A player serves several matches at once.",
        "players/decision::a_strategy_that_blocks_in_one_match_holds_up_no_other",
        "players/player::two_matches_with_the_same_player_at_once_are_kept_apart",
    ),
    needs(
        "003 8.11.2",
        "get_player_state gives history and statistics.",
        "players/history::a_finished_match_is_in_the_history_with_statistics_and_opponent_model",
    ),
    needs(
        "001 Strategies", "The built-in strategies.", "players/strategies::all_strategies_of_the_issue_are_installed"
    ),
    needs(
        "000 Sample player",
        "A player written from the seeds alone plays without a technical loss.",
        "arena/foreign_players::the_sample_player_of_the_seeds_plays_without_a_technical_loss",
    ),
    # Files
    needs(
        "000 Project Structure", "Files lie at the seeds' paths.", "storage/paths::files_lie_where_seed_000_has_them"
    ),
    needs(
        "000 standings.json",
        "standings.json has the seed's fields and types.",
        "league/records::standings_json_has_exactly_the_fields_and_types_of_the_seed",
    ),
    needs(
        "000 data/matches",
        "Every match has a file with lifecycle, transcript and result.",
        "cli/run::every_match_has_a_file_with_lifecycle_transcript_and_result",
        "referee/match_file::the_transcript_holds_every_message_in_order_with_latency_and_attempt",
    ),
    needs(
        "000 logs",
        "League, agents and system have their logs in JSON lines.",
        "cli/run::league_agents_and_system_have_their_logs",
        "transport/log::the_log_of_a_league_and_that_of_an_agent_lie_where_the_seeds_say",
    ),
    needs(
        "000 league_sdk",
        "The toolkit is importable under the seed's names.",
        "cli/setup::the_sdk_of_the_seeds_is_importable_under_its_names",
    ),
    needs(
        "CLI",
        "Files are written whole or not at all.",
        "storage/files::whoever_reads_while_it_is_written_sees_a_whole_file",
        "storage/files::a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else",
    ),
    needs(
        "000 Configuration Files",
        "The seeds' files are read without loss, and shipped with their values.",
        "config/loader::a_file_of_the_seeds_is_read_without_loss",
        "config/home::the_shipped_values_are_those_of_the_seeds",
    ),
    needs(
        "CLI",
        "A wrong or missing value is named with its file and the path in it, exit code 2.",
        "config/loader::a_wrong_value_is_named_with_file_and_path",
        "cli/run::a_wrong_file_ends_with_its_name_and_exit_code_2",
    ),
    # The command
    needs(
        "003 8.2",
        "One command plays a whole league with a process for each agent, and ends everything it started.",
        "cli/run::each_agent_has_a_process_and_all_have_ended",
        "cli/run::the_champion_leads_a_table_that_adds_up",
    ),
    needs("CLI", "--json prints one JSON object and nothing else.", "cli/run::stdout_is_exactly_one_json_object"),
    needs(
        "P 4 Draw",
        "A seed makes a league repeatable.",
        "cli/run::a_seed_makes_a_league_repeatable",
        "arena/in_process::a_seed_gives_the_same_table_whatever_carries_the_messages",
    ),
    needs(
        "CLI",
        "It is shown live.",
        "cli/run::a_terminal_shows_the_progress_bar_and_the_table_live",
    ),
    needs("CLI", "Ctrl-C ends all processes.", "cli/run::an_interrupted_league_ends_all_its_processes"),
    needs("CLI", "A port in use: a sentence, exit code 2.", "cli/run::a_port_in_use_is_named_and_nothing_is_started"),
    needs(
        "CLI",
        "Any setting can be overridden for one run.",
        "config/overrides::system_and_league_can_be_set",
        "config/overrides::an_unknown_path_is_named",
    ),
    needs(
        "CLI",
        "Where no SHARED folder is found, one is made.",
        "cli/run::where_no_home_is_found_one_is_made_and_that_is_said",
    ),
    needs(
        "CLI",
        "A referee or player started before the manager waits for it.",
        "cli/agents::agents_that_start_before_the_manager_wait_for_it_and_all_end_when_done",
        "transport/session::a_manager_that_is_not_there_is_waited_for_with_back_off",
    ),
    needs(
        "CLI",
        "The league starts with the configured agents, on numbers, or on `league start`; then queries are answered.",
        "cli/agents::without_options_the_league_starts_with_the_active_agents_and_then_answers_queries",
        "cli/agents::league_start_starts_whoever_is_there",
        "league/app::the_admin_token_lies_in_a_file_that_only_its_owner_can_read",
    ),
    needs(
        "000 Terminal Commands", "The seeds' commands.", "cli/scripts::the_terminal_commands_of_the_seeds_play_a_league"
    ),
    needs(
        "CLI",
        "A player of one's own in at most ten lines.",
        "arena/solo::the_example_has_at_most_ten_lines",
        "arena/solo::the_example_plays_a_real_league",
        "docs::the_player_in_the_readme_is_the_example",
    ),
    # Nothing is lost
    needs(
        "REL",
        "A registration or result is acknowledged only once it is committed; commits are grouped.",
        "league/journal::nothing_is_acknowledged_before_it_is_committed",
        "league/journal::rows_that_come_during_a_commit_go_together_in_the_next",
        "storage/sql::a_commit_of_sqlite_is_on_the_disk_before_it_returns",
        "storage/sql::what_a_killed_process_called_committed_is_there",
    ),
    needs(
        "REL",
        "PostgreSQL keeps the same promises as SQLite.",
        "storage/store::what_is_written_is_read_back_equal",
        "storage/sql::a_server_that_went_away_fails_writes_until_it_is_back",
    ),
    needs(
        "REL",
        "The store has a schema version and migrations.",
        "storage/sql::a_database_of_an_older_version_is_brought_up_to_date",
        "storage/sql::a_database_of_a_newer_version_is_refused",
    ),
    needs(
        "REL",
        "A manager killed at any moment is followed by one that ends the league.",
        "league/takeover::a_manager_killed_at_any_write_of_its_life_is_followed_by_one_that_ends_the_league",
        "league/takeover::agents_keep_their_ids_and_tokens_and_need_not_register_again",
        "league/takeover::finished_matches_stay_and_unfinished_ones_are_played_again",
        "reliability/killing::manager_and_referees_may_be_killed_and_every_result_is_the_undisturbed_one",
    ),
    needs(
        "REL",
        "A referee holds its matches on a lease; what it reports without one changes nothing.",
        "league/leases::a_referee_without_a_sign_of_life_loses_all_its_matches_and_is_suspended",
        "league/leases::a_match_that_its_referee_knows_nothing_of_goes_to_another_and_only_that",
        "referee/report::a_match_whose_report_is_refused_leaves_the_file_of_the_one_that_counts",
    ),
    needs(
        "REL",
        "A player that is killed comes back as itself.",
        "reliability/killing::players_may_be_killed_and_lose_at_most_what_they_miss",
        "transport/session::after_a_restart_it_is_who_it_was_before_the_manager_has_answered",
    ),
    needs(
        "REL",
        "Agents notice that the manager is gone, wait and come back.",
        "transport/session::a_manager_that_was_away_is_waited_for_and_its_return_is_told",
        "transport/session::a_manager_that_has_forgotten_us_is_registered_with_again",
    ),
    needs(
        "REL",
        "An interrupted run is resumed.",
        "reliability/run::a_run_that_was_ended_is_resumed_to_the_undisturbed_table",
        "reliability/run::processes_of_a_run_that_are_killed_come_back_and_the_table_is_the_undisturbed_one",
    ),
    needs(
        "REL",
        "The files are projections and can be rebuilt.",
        "league/rebuild::what_was_lost_is_written_anew_and_what_is_there_stays",
    ),
    needs(
        "REL",
        "A full disk loses nothing.",
        "storage/sql::a_full_disk_loses_nothing_and_the_store_works_again_once_there_is_room",
        "league/journal::a_store_that_fails_is_tried_again_and_then_it_is_committed",
    ),
    needs(
        "REL",
        "A simulated world of faults breaks no promise, and a seed repeats exactly.",
        "simulation/simulation::every_league_keeps_its_promises_whatever_goes_wrong",
        "simulation/simulation::the_same_seed_repeats_exactly",
        "simulation/invariants::an_invariant_notices_what_it_is_there_for",
    ),
    # Nobody in who doesn't belong
    needs(
        "P 5",
        "A match token is good for its match, referee, players and time only.",
        "protocol/tokens::a_match_token_for_something_else_is_refused_with_what_it_is_for",
        "protocol/tokens::a_forged_token_is_refused",
        "protocol/tokens::one_kind_of_token_is_never_good_as_the_other",
    ),
    needs(
        "P 5",
        "A stolen token reports nothing: not what a referee shows its players, not a referee's own in other hands.",
        "security/attacks::what_a_referee_shows_a_player_opens_nothing_at_the_manager",
        "security/attacks::a_stolen_referee_token_is_good_in_its_owners_hand_alone",
    ),
    needs(
        "P 5",
        "Our players refuse a stranger's question.",
        "security/attacks::a_player_is_asked_and_told_by_the_referee_of_its_match_alone",
    ),
    needs("P 5", "Only the manager speaks for the manager.", "security/attacks::nobody_speaks_for_the_manager"),
    needs(
        "P 5",
        "What was said in one league counts in no other.",
        "security/attacks::what_was_said_in_one_league_counts_in_no_other",
    ),
    needs(
        "P 5",
        "The draw can be checked by a player, and the whole match from its file.",
        "games/fairness::a_result_that_does_not_follow_from_seed_and_choices_is_named",
        "games/fairness::a_broken_promise_is_named",
        "referee/verify::what_a_referee_writes_holds",
        "referee/verify::a_change_is_found",
    ),
    needs(
        "P 4",
        "A token's value never appears in a context or a log.",
        "security/secrets::no_token_stands_anywhere_but_in_its_own_file",
        "transport/log::a_signed_token_is_struck_out_wherever_it_stands",
    ),
    needs(
        "P 5",
        "Addresses: no redirects, limits of size and time, allowed hosts only.",
        "security/addresses::a_redirect_is_not_followed",
        "security/addresses::a_player_that_answers_with_100_mb_costs_itself_the_match_and_us_a_megabyte",
        "security/addresses::an_address_that_leads_elsewhere_is_refused_however_it_is_spelled",
    ),
    needs(
        "P 2",
        "Host, Origin and Content-Type are checked; slow and huge peers hold up nobody; E014 where configured.",
        "security/http_edge::a_web_page_can_t_make_its_visitor_s_browser_call_an_agent",
        "security/http_edge::others_are_served_while_an_attack_goes_on_and_the_attackers_are_cut_off",
        "security/http_edge::too_many_requests_of_one_address_are_refused_with_e014",
    ),
    # Any agent can join
    needs(
        "P 6",
        "Agents in every form of section 6 play complete leagues with ours, and all at once without a technical loss.",
        "foreign/leagues::a_foreign_player_plays_a_whole_league_with_ours",
        "foreign/leagues::all_foreign_players_at_once_play_a_league_with_ours",
    ),
    needs(
        "P 6",
        "Where the message is: params, params.message, params.arguments, the bare body; it is answered alike.",
        "transport/reception::the_message_is_found_in_each_frame",
        "transport/reception::a_message_under_an_unknown_name_is_known_by_its_type",
        "transport/reception::a_registration_is_known_by_its_metadata_alone",
        "transport/reception::a_bare_message_is_answered_with_a_bare_one",
        "transport/reception::a_tool_is_answered_with_content_and_says_whether_it_failed",
    ),
    needs(
        "P 6",
        "Where the answer is: seven places, or pushed in a call of its own with the player's token.",
        "transport/manners::an_answer_is_found_in_each_of_its_places",
        "referee/guests::players_that_push_their_answers_play_a_match_like_any_others",
        "referee/guests::a_pushed_answer_without_its_player_s_own_token_is_refused",
    ),
    needs(
        "P 6",
        "Method names are tried in order within the same deadline, and remembered per agent.",
        "transport/manners::an_agent_of_any_style_is_asked_until_it_answers_and_then_in_its_own",
        "transport/manners::each_way_to_know_no_method_makes_us_try_the_next",
        "transport/manners::all_styles_share_one_deadline",
        "transport/reception::a_method_is_served_under_each_of_its_names",
    ),
    needs(
        "P 6",
        "Other field names are ours when they are read; what an applicant leaves out is written in and recorded.",
        "protocol/spellings::other_names_and_values_become_ours_and_are_noted",
        "protocol/spellings::metadata_may_be_in_camel_case",
        "transport/reception::what_an_applicant_left_out_of_its_envelope_is_written_in_and_noted",
    ),
    needs(
        "P 6",
        "Never tolerated: a choice in another case, local time.",
        "referee/reading::a_choice_in_another_case_or_with_blanks_is_never_tolerated",
        "referee/reading::a_timestamp_in_local_time_is_never_tolerated",
    ),
    needs(
        "P 6",
        "--strict turns the table off: a deviation is an error with its code.",
        "foreign/leagues::in_a_strict_league_a_deviation_is_lost_technically_with_its_code",
        "foreign/leagues::a_player_by_the_letter_of_its_seed_plays_a_strict_league",
        "foreign/leagues::a_strict_league_does_not_admit_who_registers_in_another_form",
    ),
    needs(
        "P 6",
        "What was tolerated is in the match file, and what the file says of it holds.",
        "referee/verify::a_match_with_a_player_of_other_manners_holds",
    ),
    needs(
        "P 6",
        "Referees and managers of others can be used with our agents.",
        "foreign/leagues::a_foreign_referee_serves_a_whole_league_of_ours",
        "foreign/leagues::our_players_and_referee_play_in_a_foreign_managers_league",
        "league/guests::a_guest_that_knows_no_order_starts_with_the_announcement",
        "league/guests::a_guest_may_play_before_it_answers_and_tell_the_result_in_its_answer",
        "referee/guests::a_manager_without_a_key_may_start_matches_by_announcing_them",
    ),
    needs(
        "P 7",
        "Messages of league.v1 exactly as its examples and base schema have them.",
        "protocol/v1_messages::an_example_is_read_and_written_without_loss",
        "protocol/v1_schemas::the_base_schema_is_in_every_schema",
        "protocol/v1_schemas::a_wrong_envelope_is_not_valid",
    ),
    needs(
        "P 7",
        "A match of v1: challenger first, PLAY_VALIDATION to both, no choice shown early, FORFEIT.",
        "referee/words_v1::a_match_of_v1_goes_the_way_of_001_and_no_choice_is_shown_early",
        "referee/words_v1::a_technical_loss_is_a_forfeit_and_says_what_was_received",
        "referee/verify_v1::a_change_in_the_order_is_found",
    ),
    needs(
        "P 7",
        "A league of v1 is a double round robin with shared ranks and win rates; both kinds may meet in one league.",
        "league/scheduler::a_double_round_robin_of_four_is_the_board_and_then_the_board_with_sides_swapped",
        "league/words_v1::a_round_that_is_over_tells_shared_ranks",
        "league/words_v1::the_end_tells_the_champion_with_its_win_rate",
        "foreign/leagues::a_foreign_v1_player_plays_a_v1_league_of_ours",
        "foreign/leagues::our_v1_players_play_in_a_foreign_v1_league",
    ),
    needs(
        "P 7",
        "mcp://host:port/name is called at /mcp, and MOVE_* is accepted.",
        "protocol/v1_ids::an_address_of_the_seed_is_called_at_its_mcp_path",
        "protocol/v1_checks::the_other_spelling_of_a_play_is_accepted",
    ),
    needs(
        "CLI",
        "`league check` finds and names each planted fault, in at least 40 steps for a player; our own agents pass.",
        "conformance/player::a_planted_fault_is_found_at_its_step_and_named",
        "conformance/player::a_player_is_judged_in_at_least_40_steps_with_names_of_their_own",
        "conformance/player::where_nobody_listens_the_first_step_says_so_and_the_others_are_skipped",
        "conformance/player::an_answer_over_the_limit_is_too_slow_and_what_hangs_on_it_is_skipped",
        "conformance/player::a_wrong_token_that_is_accepted_is_a_warning_and_strictly_a_failure",
        "conformance/dialects::the_dialect_is_named_and_nothing_but_warnings_comes_of_it",
        "cli/check::our_own_three_agents_pass_every_step_also_strictly",
    ),
    needs(
        "CLI",
        "`league check` judges referees and managers too.",
        "conformance/referee::a_planted_fault_is_found_at_its_step_and_named",
        "conformance/manager::a_planted_fault_is_found_at_its_step_and_named",
    ),
    needs(
        "CLI",
        "`league check --record` says how many messages of a record match their schemas, and names each that doesn't.",
        "conformance/record::all_messages_of_a_league_of_ours_are_valid",
        "conformance/record::a_wrong_answer_is_named_with_its_entry_its_field_and_what_was_expected",
    ),
    needs(
        "CLI",
        "`league new player` writes a starter that passes `league check` and plays, in Python and in JavaScript.",
        "cli/new::a_starter_s_own_test_runs_league_check_and_passes",
        "cli/new::a_starter_plays_a_whole_league_with_ours",
        "cli/new::the_javascript_starter_needs_nothing_but_node",
        "cli/new::what_is_there_is_never_overwritten",
    ),
    # MCP
    needs(
        "MCP",
        "Bare calls and both revisions of MCP share `/mcp`; the SDK is loaded when the first MCP request comes.",
        "transport/mcp_door::a_client_of_either_revision_and_bare_callers_share_the_path",
        "transport/mcp_door::bare_calls_never_load_the_sdk",
        "transport/mcp_door::streams_take_only_their_share_of_the_connections_and_one_address_half_of_it",
        "transport/mcp_door::a_page_of_another_host_can_t_use_the_door",
    ),
    needs(
        "MCP",
        "Every method is a tool with exact schemas, backed by the same handlers and errors as a bare call.",
        "protocol/tools::everything_that_was_asked_and_answered_in_whole_leagues_is_valid",
        "protocol/tools::plain_answers_of_a_whole_league_are_valid_before_and_after_it",
        "transport/dispatch_call::what_an_envelope_needs_is_written_in",
        "transport/dispatch_call::a_token_counts_alike_among_the_arguments_and_beside_them",
    ),
    needs(
        "MCP",
        "Resources and prompts by role; nothing said in a running match is shown; what agents wrote is quoted as data.",
        "protocol/resources::every_resource_can_be_read_where_it_is_served",
        "league/updates::a_whole_league_tells_of_each_of_its_resources",
        "league/queries::what_was_said_is_never_told_while_a_match_runs",
        "protocol/prompts::every_prompt_is_written_for_a_league_that_was_played",
        "protocol/prompts::nothing_that_is_quoted_can_end_the_quote",
    ),
    needs(
        "MCP",
        "A fixture agent behind our endpoint passes all required server scenarios of both revisions; our agents pass"
        " theirs against baselines.",
        "mcp/conformance::the_fixture_agent_passes_all_that_a_revision_requires_of_a_server",
        "mcp/conformance::an_agent_fails_what_its_baseline_says_and_nothing_else",
    ),
    needs(
        "MCP",
        "MCP Inspector lists and calls tools on all three roles.",
        "mcp/inspector::inspector_lists_and_calls_the_tools_of_every_role",
        "mcp/inspector::inspector_shows_a_refusal_as_an_error",
    ),
    needs(
        "MCP",
        "A script sets both up once, and says so where npm is missing.",
        "mcp/node_tools::the_tools_are_installed_once_however_many_ask_at_the_same_time",
        "mcp/node_tools::what_can_t_be_installed_is_told_in_a_sentence",
    ),
    needs(
        "MCP",
        "`mcp.Client` in both modes lists, reads and calls on all three roles, beside bare calls.",
        "mcp/client::every_role_lists_its_tools_its_resources_and_its_prompts",
        "mcp/client::every_resource_is_read_as_its_method_answers",
        "mcp/client::every_prompt_is_written_from_what_its_role_knows",
        "mcp/client::a_call_is_answered_as_a_bare_call_is_in_the_form_that_its_schema_promises",
        "mcp/client::a_refused_call_is_an_error_that_holds_the_league_error",
        "mcp/client::agents_in_processes_of_their_own_answer_too",
    ),
    needs(
        "MCP",
        "A token works in the envelope and as a bearer header.",
        "mcp/client::a_token_works_in_the_envelope_and_as_a_bearer_header",
    ),
    needs(
        "MCP",
        "Updates of resources reach subscribers in both revisions.",
        "mcp/client::a_subscriber_is_told_that_the_standings_change_while_a_league_is_played",
    ),
    needs(
        "MCP",
        "An agent that only plays never loads the SDK; the bench compares with and without.",
        "mcp/client::agents_that_only_play_never_load_the_sdk",
        "mcp/cost::the_bench_compares_a_player_with_mcp_and_one_without",
    ),
    needs(
        "MCP",
        "Whatever arrives on the MCP side, bare calls are answered, and the agent stops at once.",
        "security/mcp_edge::what_is_no_proper_request_is_refused",
        "security/mcp_edge::a_flood_of_sessions_and_streams_has_its_bounds_and_bare_calls_go_on",
        "mcp/client::a_league_stops_at_once_while_clients_have_streams_open",
    ),
    needs(
        "MCP",
        "A player that is nothing but an MCP server of the SDK takes part.",
        "mcp/server_player::the_sdk_s_own_server_plays_a_league_with_ours",
        "mcp/server_player::league_check_judges_it_in_its_own_form",
    ),
    needs(
        "MCP",
        "A host over stdio and one over HTTP play a full league of four.",
        "gateway/league::one_host_over_stdio_and_one_over_http_play_a_league_of_four",
    ),
    needs(
        "MCP",
        "Without a move two seconds before the deadline the fallback plays, the host is told, nobody loses by it.",
        "players/mailbox::without_a_move_the_fallback_plays_two_seconds_before_the_deadline",
        "gateway/league::a_host_that_never_moves_is_played_for_and_costs_nobody_a_match",
    ),
    needs(
        "MCP",
        "A lost answer loses nothing; moves are idempotent, stale turns refused.",
        "gateway/server::a_lost_answer_is_read_again_with_the_same_cursor_and_the_same_move_again_changes_nothing",
        "players/mailbox::a_late_move_is_refused_and_told_what_was_played_and_what_is_open",
    ),
    needs(
        "MCP",
        "No event is skipped; what a host is given is bounded, and every legal move can be played.",
        "gateway/server::an_event_after_the_wait_is_over_comes_with_the_next_one",
        "gateway/server::many_events_come_in_several_answers_and_the_league_is_over_with_the_last_of_them",
        "gateway/server::whatever_a_referee_calls_legal_is_shown_within_a_bound_and_can_be_played",
    ),
    needs(
        "MCP",
        "A seat is a handle and not a connection; a gateway comes back as the same player.",
        "gateway/hosting::hosts_share_the_seat_and_hear_beats_while_they_wait",
        "gateway/league::a_gateway_that_is_ended_and_started_again_comes_back_as_the_same_player",
    ),
    needs(
        "MCP",
        "The league token never enters the model's context; what others write stands apart and is cut short.",
        "gateway/server::the_league_token_is_in_no_answer_error_prompt_or_log_whoever_says_it",
        "gateway/server::what_others_write_stands_apart_and_is_cut_short",
    ),
    needs(
        "MCP",
        "The configuration that README and docs show starts a gateway, and the example plays.",
        "gateway/page::the_readme_shows_the_same_configuration",
        "gateway/page::the_shown_command_is_a_gateway",
        "gateway/page::the_example_plays_a_league",
    ),
    needs("CLI", "A person plays in a terminal.", "cli/play::a_person_plays_a_league_at_a_terminal"),
    needs(
        "001 Session Manager",
        "Connections are verified, checked periodically, and made again with growing, jittered rests.",
        "transport/mcp_client/sessions::a_session_shakes_hands_in_the_servers_revision_lists_its_tools_and_calls_one",
        "transport/mcp_client/sessions::a_heartbeat_notices_a_dead_server",
        "transport/mcp_client/sessions::a_call_that_does_no_harm_is_made_again_when_the_server_died_and_came_back",
        "transport/mcp_client/sessions::a_call_that_may_do_harm_is_never_made_twice",
        "transport/mcp_client/sessions::the_rests_grow_and_are_spread_by_chance",
    ),
    needs(
        "001 Tool Registry",
        "One list of tools over several servers; names in conflict get namespaces.",
        "transport/mcp_client/registry::tools_keep_their_own_name_where_it_is_the_only_one_and_get_their_servers_where_two_have_it",
    ),
    needs(
        "001 Message Queue",
        "Bounded, with priorities, both ways.",
        "transport/mcp_client/queue::the_urgent_come_first_and_equals_in_their_order",
        "transport/mcp_client/queue::an_urgent_newcomer_takes_the_place_of_the_youngest_of_the_least_urgent_who_is_told",
        "transport/mcp_client/sessions::a_flood_of_notices_is_bounded_and_the_news_of_the_tools_get_through",
    ),
    needs(
        "001 Error Handling",
        "Errors are transient, permanent or timeouts.",
        "transport/mcp_client/faults::what_may_work_in_a_moment_is_transient",
        "transport/mcp_client/faults::what_never_works_is_permanent",
        "transport/mcp_client/faults::what_took_too_long_is_a_timeout",
    ),
    # A language model as a player
    needs(
        "CLI",
        "A model's answer is checked, rethought once, and else replaced by the fallback before the deadline.",
        "players/llm_thinking::the_models_move_is_played_if_need_be_after_one_rethink",
        "players/llm_thinking::a_model_that_gives_no_move_is_replaced_by_the_fallback_and_the_usage_says_why",
        "players/llm_thinking::a_move_ends_two_seconds_before_the_deadline_or_by_its_own_limit",
        "players/llm_league::a_player_answers_before_the_referees_limit_though_its_model_never_does",
        "players/llm_thinking::once_the_money_is_spent_the_model_is_not_asked_again",
        "players/llm_thinking::many_moves_at_once_are_no_way_around_the_budget",
        "players/llm_failures::a_server_of_ones_own_is_looked_at_before_the_first_move",
    ),
    needs(
        "CLI",
        "What opponents can write reaches a model as quoted data, cut short.",
        "players/llm_prompt::what_opponents_write_stands_between_the_marks_and_nowhere_else",
        "players/llm_prompt::long_words_are_cut_short",
    ),
    needs(
        "CLI",
        "Tokens, cost and latency of each move are in the match file; tools of MCP servers are lent to the model.",
        "players/llm_league::a_league_with_a_model_in_a_seat_has_its_costs_in_the_match_files_and_verifies",
        "players/llm_tools::the_model_is_lent_the_tools_and_gets_their_answers_as_data",
        "players/llm_tools::a_protected_server_is_shown_the_key_of_the_environment",
        "transport/mcp_client/hostile::an_answer_is_taken_without_running_the_patterns_of_the_servers_own_schema",
    ),
)
