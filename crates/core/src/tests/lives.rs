//! Lives that once broke a law, as short as they could be made (`super::random` finds them).

use serde_json::json;

use super::steps::{Can, Step};
use super::story::Story;

/// Lives these steps with two files that were read before, and checks the laws.
#[track_caller]
fn check(steps: &[Step]) {
    drop(super::random::live(Can::Forget, steps, false));
}

/// Lives these steps with files that were not read before, and checks the laws.
#[track_caller]
fn check_new(steps: &[Step]) {
    let mut life = Story::new(Can::Forget, false);
    for step in steps {
        life.live(step);
    }
    drop(life.rests());
}

/// Lives these steps with one file that has two names and was read before, and checks the laws.
#[track_caller]
fn check_linked(steps: &[Step]) {
    drop(super::random::live_linked(steps));
}

#[test]
fn a_replaced_change_that_no_session_can_offer_is_reported() {
    check(&[
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::Buffer(0, "save"),
        Step::Broken(0, true),
        Step::User("close"),
        Step::Disk(0),
    ]);
}

#[test]
fn a_save_while_the_agent_reads_is_the_users() {
    check_new(&[
        Step::User("prompt"),
        Step::Read(0, None, None),
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 0, 2),
        Step::Check,
        Step::Tell,
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 1, 0)]),
    ]);
}

#[test]
fn a_save_between_an_agents_write_and_its_command_is_the_users() {
    check_new(&[
        Step::User("prompt"),
        Step::Read(0, None, None),
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 0, 2),
        Step::Check,
        Step::Shell(0, vec![]),
        Step::Write(0, vec![]),
        Step::Tell,
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 1, 0)]),
    ]);
}

#[test]
fn a_question_shows_its_call_as_neovim_knows_it_now() {
    check_new(&[
        Step::User("prompt"),
        Step::Tool("begin change", 0),
        Step::Tool("off", 0),
        Step::Tool("announce", 1),
        Step::Ask(0, "t1"),
        Step::Editor(2),
        Step::Tool("use look", 0),
    ]);
}

#[test]
fn a_report_from_before_a_save_is_not_taken_for_a_change_that_followed_it() {
    check(&[
        Step::Buffer(0, "open"),
        Step::User("interrupt"),
        Step::Foreign(0, 0),
        Step::Check,
        Step::Foreign(0, 0),
        // It replaces the second change, which comes back; the first is reported later.
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_file_has_one_review_if_a_buffer_is_opened_while_it_is_written_by_another_name() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Disk(1),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Buffer(0, "open"),
        Step::Disk(1),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_buffer_opened_by_another_name_during_a_reject_on_disk_gets_the_rejected_text() {
    check_linked(&[
        // By the other name.
        Step::Write(0, vec![(0, 1, 0)]),
        Step::Disk(1),
        Step::Disk(1),
        Step::User("reject row"),
        Step::Disk(1),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_change_that_is_written_back_follows_those_that_were_reported_before_it() {
    check_linked(&[
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::User("prompt"),
        Step::Check,
        Step::Read(0, None, None),
        Step::Tell,
        Step::Disk(0),
        Step::Buffer(0, "wipe"),
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn an_agents_deletion_of_a_line_that_was_just_saved_is_reviewed() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::User("prompt"),
        Step::Check,
        Step::Read(0, None, None),
        Step::Buffer(0, "open"),
        Step::Tell,
        Step::Disk(1),
        Step::Tell,
        Step::Type(0, 0, 0, 2),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 1, 0)]),
    ]);
}

#[test]
fn a_file_that_became_binary_while_it_was_written_has_its_text_back_after_a_reject() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Write(0, vec![]),
        Step::Foreign(0, 0),
        Step::Look,
        Step::Tell,
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn a_save_of_a_text_that_was_read_during_the_turn_is_the_users() {
    check(&[
        Step::User("interrupt"),
        Step::Check,
        Step::Tell,
        Step::Buffer(0, "open"),
        Step::Type(0, 4, 0, 1),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(3, 2, 0)]),
    ]);
}

#[test]
fn a_save_between_two_changes_of_the_agent_of_which_the_first_was_read_is_the_users() {
    check(&[
        Step::User("interrupt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 1, 1)]),
        Step::Buffer(0, "open"),
        Step::Type(0, 4, 0, 1),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(3, 2, 0)]),
    ]);
}

#[test]
fn a_buffer_loaded_as_an_agents_write_ends_has_other_programs_lines_of_before_it() {
    check_linked(&[
        Step::Write(0, vec![(0, 1, 2)]),
        Step::Write(0, vec![(0, 1, 1)]),
        Step::Write(0, vec![(0, 2, 0)]),
        Step::Foreign(0, 8),
        Step::Disk(1),
        Step::Disk(1),
        Step::Foreign(0, 4),
        Step::Disk(1),
        Step::Write(0, vec![(0, 2, 0)]),
        Step::User("undo turn"),
        Step::Foreign(0, 0),
        Step::Disk(1),
        Step::Disk(1),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_save_before_an_agents_write_to_the_closed_file_is_the_users() {
    check(&[
        Step::User("prompt"),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(3, 1, 0)]),
        Step::Check,
        Step::Type(0, 7, 0, 1),
        Step::Buffer(0, "wipe"),
        Step::Tell,
        Step::Shell(0, vec![(0, 1, 0)]),
        Step::Chunk("agent_message_chunk", String::new()),
    ]);
}

#[test]
fn a_report_that_is_older_than_the_review_takes_nothing_from_it_when_the_file_cannot_be_read() {
    check(&[
        Step::Foreign(0, 0),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Chunk("agent_message_chunk", String::new()),
        Step::Look,
        Step::Foreign(0, 0),
        Step::Tell,
        Step::Broken(0, true),
        Step::Disk(0),
    ]);
}

#[test]
fn a_buffer_that_is_read_again_as_an_agents_write_is_merged_has_the_agents_lines() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Disk(0),
        Step::Buffer(0, "open"),
        Step::Disk(0),
        Step::Buffer(0, "reload"),
    ]);
}

#[test]
fn what_a_buffer_reads_of_an_agents_change_before_the_report_is_listed() {
    check(&[
        Step::User("prompt"),
        Step::Write(0, vec![(2, 0, 1)]),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 2, 1)]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn what_an_undone_reject_brings_back_is_still_the_agents() {
    check_linked(&[
        Step::Write(0, vec![(3, 0, 1)]),
        Step::Disk(1),
        Step::Disk(1),
        Step::User("reject"),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Disk(1),
        Step::User("list undo"),
        Step::Write(0, vec![(2, 2, 0)]),
    ]);
}

#[test]
fn a_report_that_is_newer_than_the_review_counts_when_the_file_cannot_be_read() {
    check(&[
        Step::Write(0, vec![(8, 1, 0)]),
        Step::Foreign(0, 1),
        Step::Look,
        Step::Tell,
        Step::Broken(0, true),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn what_the_user_types_into_an_agents_lines_before_their_report_leaves_them_listed() {
    check(&[
        Step::User("interrupt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(7, 0, 2)]),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Buffer(0, "open"),
        Step::Type(0, 1, 0, 1),
    ]);
}

#[test]
fn a_save_without_changes_over_an_agents_change_before_the_report_leaves_it_listed() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Buffer(0, "open"),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_users_line_that_the_agent_takes_away_before_any_report_is_not_lost() {
    check(&[
        Step::User("prompt"),
        Step::Buffer(0, "open"),
        Step::Check,
        Step::Type(0, 1, 0, 1),
        Step::Buffer(0, "wipe"),
        Step::Tell,
        Step::Shell(0, vec![(1, 1, 0)]),
    ]);
}

#[test]
fn a_report_of_a_link_is_not_of_the_file_it_leads_to() {
    check_linked(&[
        Step::User("prompt"),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Disk(1),
        Step::Check,
        Step::Disk(1),
        Step::Read(0, None, None),
        Step::Tell,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
    ]);
}

#[test]
fn what_a_reload_brings_back_of_an_agents_change_is_listed() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 1, 0)]),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Carry(0),
        Step::Foreign(0, 0),
        Step::Editor(1),
        Step::Editor(2),
        Step::Buffer(0, "reload"),
    ]);
}

#[test]
fn an_agents_change_that_a_save_replaced_and_that_is_back_is_listed() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Buffer(0, "open"),
        Step::Write(0, vec![]),
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Answer(0, 0),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn an_agents_line_inside_those_of_an_undone_turn_is_still_listed() {
    check(&[
        Step::Write(0, vec![(3, 0, 2)]),
        Step::User("prompt"),
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(0, 1, 2), (5, 0, 1)]),
        Step::User("undo turn"),
        Step::Type(0, 0, 0, 0),
        Step::Disk(0),
        Step::Buffer(0, "undo"),
    ]);
}

#[test]
fn a_write_takes_in_one_reported_change_after_the_other() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 2)]),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Foreign(0, 0),
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::Read(0, None, None),
        Step::User("reject row"),
        Step::User("list undo"),
        Step::User("prompt"),
        Step::User("undo turn"),
        Step::Check,
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn what_a_reload_brings_of_a_write_under_way_is_the_agents() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Read(0, None, None),
        Step::TakeBack(3),
        Step::Disk(0),
        Step::Disk(1),
        Step::Buffer(0, "open"),
        Step::Disk(1),
        Step::Foreign(0, 0),
        Step::Buffer(0, "reload"),
    ]);
}

#[test]
fn a_buffer_loaded_during_a_reject_of_bytes_leaves_nothing_of_the_agents() {
    check(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::User("prompt"),
        Step::Shell(0, vec![]),
        Step::Check,
        Step::Tell,
        Step::Tell,
        Step::Whole(0, "bytes"),
        Step::User("reject row"),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_waiting_report_of_a_link_does_not_tell_who_wrote_the_file() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Read(0, None, None),
        Step::User("prompt"),
        Step::Read(0, None, None),
        Step::Buffer(0, "open"),
        Step::Check,
        Step::Tell,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Disk(1),
    ]);
}

#[test]
fn what_an_undone_reject_brings_back_is_the_agents_beside_another_programs_line() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::User("reject row"),
        Step::Foreign(0, 0),
        Step::User("list undo"),
    ]);
}

#[test]
fn a_session_keeps_its_new_process_when_the_old_one_does_not_answer() {
    check(&[
        Step::User("open"),
        Step::User("stop"),
        Step::User("prompt"),
        Step::Time,
    ]);
}

#[test]
fn a_mode_of_a_file_that_another_program_deleted_needs_no_decision() {
    check(&[
        Step::User("interrupt"),
        Step::Check,
        Step::Tell,
        Step::Whole(0, "mode"),
        Step::Answer(0, 0),
        Step::Check,
        Step::Buffer(0, "open"),
        Step::Whole(0, "delete"),
    ]);
}

#[test]
fn what_a_reject_has_read_and_taken_away_is_not_brought_back_by_its_report() {
    check_linked(&[
        Step::Write(0, vec![(0, 2, 1)]),
        Step::Disk(1),
        Step::Write(0, vec![(7, 0, 2)]),
        Step::User("prompt"),
        Step::Read(0, None, None),
        Step::Disk(1),
        Step::Disk(0),
        Step::Disk(0),
        Step::Check,
        Step::Foreign(0, 1),
        Step::Tell,
        Step::User("reject"),
    ]);
}

#[test]
fn a_report_of_what_a_save_has_replaced_is_not_merged() {
    check(&[
        Step::User("prompt"),
        Step::Buffer(0, "open"),
        Step::Check,
        Step::Type(0, 3, 2, 0),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Foreign(0, 0),
        Step::Look,
        Step::Buffer(0, "save"),
    ]);
}

#[test]
fn a_write_over_reported_changes_of_several_authors_leaves_each_its_lines() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::User("prompt"),
        Step::Disk(1),
        Step::User("accept"),
        Step::Foreign(0, 0),
        Step::Check,
        Step::User("undo turn"),
        Step::Agents,
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn an_agents_change_that_is_written_back_and_read_at_once_is_listed() {
    check(&[
        Step::User("interrupt"),
        Step::Write(0, vec![]),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Buffer(0, "wipe"),
        Step::Whole(0, "delete"),
    ]);
}

#[test]
fn an_old_report_does_not_bring_what_the_next_one_has() {
    check_linked(&[
        Step::Read(0, None, None),
        Step::Disk(1),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::User("prompt"),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::User("reject"),
        Step::Read(0, None, None),
        Step::Check,
        Step::Disk(0),
        Step::Tell,
        Step::Disk(0),
        Step::Buffer(0, "open"),
        Step::Tell,
        Step::Broken(0, true),
        Step::Shell(0, vec![(1, 0, 1)]),
        Step::Type(0, 0, 0, 0),
    ]);
}

#[test]
fn a_reject_of_a_conflict_takes_back_the_format_too() {
    check(&[Step::Foreign(1, 8), Step::Write(1, vec![(5, 2, 0)])]);
}

#[test]
fn a_reject_of_a_new_file_that_the_agent_emptied_brings_the_users_lines_back() {
    check(&[
        Step::Write(2, vec![]),
        Step::Buffer(2, "open"),
        Step::Type(2, 0, 0, 1),
    ]);
}

#[test]
fn what_a_reload_brings_of_a_write_that_is_on_disk_already_is_the_agents() {
    check(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Disk(0),
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 0, 1),
        Step::Shell(0, vec![]),
        Step::Buffer(0, "reload"),
    ]);
}

#[test]
fn an_undone_turn_brings_an_earlier_turns_line_back_as_pending() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(1, 0, 1)]),
        Step::User("prompt"),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::Buffer(0, "open"),
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::TakeBack(3),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Read(0, None, None),
        Step::TakeBack(3),
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::User("undo turn"),
        Step::User("undo turn"),
        Step::Shell(0, vec![(0, 0, 0)]),
    ]);
}

#[test]
fn what_a_buffer_reads_while_an_older_report_waits_is_listed() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Foreign(0, 0),
        Step::Disk(1),
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn an_old_report_of_a_closed_file_does_not_bring_what_the_next_one_has() {
    check_linked(&[
        Step::Write(0, vec![(0, 1, 0)]),
        Step::Write(0, vec![(0, 1, 0)]),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::Read(0, None, None),
        Step::User("prompt"),
        Step::Read(0, None, None),
        Step::User("reject row"),
        Step::Check,
        Step::Read(0, None, None),
        Step::Read(0, None, None),
        Step::Shell(0, vec![(0, 0, 0)]),
        Step::Read(0, None, None),
        Step::Disk(1),
        Step::Tell,
        Step::Tell,
        Step::Disk(1),
        Step::Shell(0, vec![(0, 0, 1)]),
    ]);
}

#[test]
fn what_is_read_of_an_agents_changes_before_and_after_the_report_is_one_change() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 2, 0), (1, 1, 1)]),
        Step::Write(0, vec![(5, 1, 0)]),
        Step::Shell(0, vec![(5, 1, 0)]),
        Step::User("reject turn"),
    ]);
}

#[test]
fn a_pending_line_that_the_agent_takes_away_before_a_reject_reads_the_file_does_not_come_back() {
    check_linked(&[
        Step::Write(0, vec![(7, 0, 1)]),
        Step::Disk(1),
        Step::Disk(1),
        Step::User("reject row"),
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Tell,
        Step::Shell(0, vec![(0, 1, 0)]),
    ]);
}

#[test]
fn what_a_reject_has_read_and_left_of_an_agents_change_is_listed() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Write(1, vec![(2, 1, 1)]),
        Step::Tell,
        Step::Shell(1, vec![(2, 0, 1)]),
        Step::User("reject"),
    ]);
}

#[test]
fn a_save_before_the_edit_of_an_agents_write_is_made_is_the_users() {
    check(&[
        Step::Write(0, vec![(1, 2, 0)]),
        Step::Tool("use look", 0),
        Step::Foreign(0, 0),
        Step::ToolWrite(0, 0, vec![]),
        Step::Buffer(0, "open"),
        Step::User("prompt"),
        Step::User("reject turn"),
        Step::Check,
        Step::Type(0, 0, 0, 1),
        Step::Shell(0, vec![]),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_save_after_an_agents_change_of_the_mode_is_the_users() {
    check_new(&[
        Step::User("prompt"),
        Step::Check,
        Step::Buffer(0, "open"),
        Step::Tell,
        Step::Whole(0, "mode"),
        Step::Look,
        Step::Tell,
        Step::Chunk("agent_message_chunk", String::new()),
        Step::Type(0, 7, 0, 2),
        Step::Type(0, 0, 0, 2),
        Step::Type(0, 0, 0, 1),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 1, 0)]),
    ]);
}

#[test]
fn what_a_write_replaces_of_a_file_that_the_agent_has_just_made_is_listed() {
    check_new(&[
        Step::User("prompt"),
        Step::Propose(2, vec![]),
        Step::Check,
        Step::Tell,
        Step::Shell(2, vec![(0, 0, 1)]),
        Step::Carry(2),
    ]);
}

#[test]
fn what_a_reject_reads_begins_with_the_reports_that_wait_for_it() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Write(0, vec![(1, 0, 1)]),
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Look,
        Step::Shell(0, vec![(0, 1, 0)]),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::User("reject turn"),
    ]);
}

#[test]
fn what_was_read_between_two_reports_has_the_first_one() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Look,
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn other_lines_that_are_offered_beside_an_agents_are_told_of() {
    check(&[
        Step::Buffer(0, "open"),
        Step::Type(0, 3, 2, 0),
        Step::Write(0, vec![(0, 2, 2), (3, 1, 1)]),
        Step::Foreign(0, 7),
        Step::Buffer(0, "wipe"),
        Step::Write(0, vec![]),
    ]);
}

#[test]
fn a_write_over_what_a_buffer_saved_leaves_the_users_lines_theirs() {
    check_linked(&[
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 1, 2)]),
        Step::Foreign(0, 1),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::User("accept"),
        Step::Buffer(0, "open"),
        Step::User("prompt"),
        Step::Check,
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Tell,
        Step::Type(0, 2, 2, 1),
        Step::Buffer(0, "wipe"),
        Step::Tell,
        Step::User("accept row"),
        Step::Shell(0, vec![(0, 1, 0), (8, 1, 0)]),
    ]);
}

#[test]
fn a_write_that_takes_away_an_unreported_line_leaves_it_in_the_hunk() {
    check(&[
        Step::User("open"),
        Step::Write(0, vec![]),
        Step::Tool("use look", 2),
        Step::Foreign(0, 0),
        Step::ToolWrite(2, 0, vec![]),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn what_is_typed_among_lines_read_before_their_report_leaves_them_listed() {
    check_new(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(3, 0, 2)]),
        Step::Read(0, None, None),
        Step::Foreign(0, 0),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(0, 1, 0)]),
        Step::Type(0, 5, 0, 1),
    ]);
}

#[test]
fn a_file_deleted_after_its_session_is_closed_has_no_hunks_left_to_reject() {
    check_new(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::User("close"),
        Step::Foreign(0, 0),
        Step::Check,
        Step::Whole(0, "delete"),
        Step::Tell,
        Step::Tell,
    ]);
}

#[test]
fn what_a_write_replaced_has_the_report_that_comes_after_it() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Look,
        Step::Shell(0, vec![]),
        Step::Write(0, vec![(0, 0, 1)]),
    ]);
}

#[test]
fn a_permission_held_for_a_session_that_is_given_up_is_answered() {
    check(&[
        Step::User("stop"),
        Step::Agents,
        Step::User("open old"),
        Step::User("open"),
        Step::Agents,
        Step::Answer(0, 2),
        Step::Answer(0, 3),
        Step::Terminal("create", 1),
        Step::Ask(0, "t1"),
        Step::Time,
    ]);
}

#[test]
fn what_the_agent_wrote_before_another_authors_change_is_listed_in_a_buffer_with_both() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Answer(0, 0),
        Step::Check,
        Step::Foreign(0, 0),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_file_written_again_with_the_same_lines_is_the_agents_in_a_buffer() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 2)]),
        Step::Answer(0, 0),
        Step::Check,
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn what_the_agent_wrote_before_another_program_is_listed_after_its_next_write() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Answer(0, 0),
        Step::Read(0, None, None),
        Step::Check,
        Step::Foreign(0, 0),
        Step::Write(0, vec![]),
    ]);
}

#[test]
fn a_save_of_bytes_by_the_editor_leaves_a_file_that_is_no_text() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Look,
        Step::Buffer(0, "wipe"),
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn an_agents_change_that_a_save_replaced_as_the_buffer_closed_is_reviewed() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::User("prompt"),
        Step::Buffer(0, "open"),
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Answer(0, 1),
        Step::Editor(1),
        Step::Check,
        Step::Tell,
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_write_over_a_report_that_waits_leaves_it_listed_if_another_program_wrote_between() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(6, 0, 2)]),
        Step::Answer(0, 0),
        Step::Check,
        Step::Shell(0, vec![(7, 0, 1)]),
        Step::Write(0, vec![]),
    ]);
}

#[test]
fn what_the_agent_writes_after_the_last_save_of_a_closed_buffer_is_listed_when_the_disk_fails() {
    check(&[
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::Write(0, vec![]),
        Step::Look,
        Step::Tell,
        Step::Buffer(0, "wipe"),
        Step::Editor(2),
        Step::Broken(0, true),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn lines_that_another_program_changed_before_their_report_are_listed() {
    check_new(&[
        Step::User("prompt"),
        Step::Foreign(0, 0),
        Step::Check,
        Step::Tell,
        Step::Tell,
        Step::Shell(0, vec![(1, 0, 2)]),
        Step::User("restart"),
        Step::Check,
        Step::Shell(0, vec![(1, 1, 1)]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_file_that_neovim_saved_with_a_nul_can_be_rejected() {
    check(&[
        Step::Write(0, vec![]),
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn lines_that_an_undone_turn_brings_back_are_accepted_once() {
    check(&[
        Step::User("prompt"),
        Step::Write(0, vec![(3, 2, 0)]),
        Step::Check,
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Shell(0, vec![(2, 2, 1)]),
        Step::User("undo turn"),
        Step::Chunk("agent_message_chunk", String::new()),
        Step::Whole(0, "delete"),
    ]);
}

#[test]
fn a_late_report_does_not_replace_what_a_decision_has_read() {
    check_new(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Answer(0, 0),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Check,
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 0, 1),
        Step::Foreign(0, 0),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(1, 2, 0)]),
        Step::User("accept"),
    ]);
}

#[test]
fn an_accepted_deletion_accepts_no_larger_one() {
    check_linked(&[
        Step::Buffer(0, "open"),
        Step::Type(0, 6, 0, 2),
        Step::Read(0, None, None),
        Step::Disk(1),
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(7, 0, 0)]),
        Step::Write(0, vec![(6, 2, 0)]),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Propose(0, vec![(4, 2, 0)]),
        Step::User("accept"),
        Step::Carry(0),
    ]);
}

#[test]
fn a_new_file_that_an_agents_write_has_not_made_is_not_to_be_decided() {
    check(&[
        Step::Write(2, vec![]),
        Step::Buffer(2, "open"),
        Step::Shell(2, vec![]),
        // The edit comes too late, and the write is refused.
        Step::Buffer(2, "tick"),
        Step::User("close"),
    ]);
}

#[test]
fn a_save_before_reports_that_wait_for_an_agents_write_to_the_closed_file_is_the_users() {
    check(&[
        Step::Foreign(0, 0),
        Step::Tool("announce", 0),
        Step::Look,
        Step::Buffer(0, "open"),
        Step::Type(0, 3, 0, 2),
        Step::Buffer(0, "wipe"),
        Step::Read(0, None, None),
        Step::Foreign(0, 0),
        Step::Write(0, vec![(2, 2, 0)]),
    ]);
}

#[test]
fn what_is_loaded_again_of_a_change_before_a_call_outside_a_turn_counts_as_the_agents() {
    check(&[
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        call_begins(),
        Step::Write(0, vec![]),
        Step::Buffer(0, "reload"),
        Step::User("reject turn"),
    ]);
}

#[test]
fn what_is_loaded_again_of_a_change_before_a_proposal_counts_as_the_agents() {
    check_linked(&[
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::Carry(0),
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::User("yes"),
        Step::Buffer(0, "reload"),
        Step::User("reject turn"),
    ]);
}

#[test]
fn a_change_before_a_call_of_a_session_that_is_opened_twice_counts_as_the_agents() {
    check(&[
        Step::Foreign(0, 0),
        Step::User("open first"),
        call_begins(),
        Step::Look,
        Step::Tell,
        Step::Write(0, vec![]),
    ]);
}

#[test]
fn a_buffer_loaded_while_a_report_waits_has_each_authors_lines() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Foreign(0, 0),
        Step::Read(0, None, None),
        Step::User("prompt"),
        Step::Check,
        Step::Foreign(0, 0),
        Step::Tell,
        Step::Tell,
        Step::Buffer(0, "open"),
        Step::User("reject turn"),
    ]);
}

#[test]
fn what_is_offered_in_a_closed_file_outlives_an_agents_write_of_other_lines() {
    check_linked(&[
        Step::Write(0, vec![(8, 0, 2)]),
        Step::Disk(1),
        Step::Disk(1),
        Step::User("reject"),
        Step::Foreign(0, 0),
        Step::Buffer(0, "open"),
        Step::Foreign(0, 3),
        Step::Buffer(0, "wipe"),
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Disk(1),
        Step::Shell(0, vec![(0, 0, 0)]),
    ]);
}

#[test]
fn the_lines_of_an_accepted_offer_are_the_agents() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 2, 2),
        Step::Read(0, None, None),
        Step::Type(0, 8, 1, 2),
        Step::Write(0, vec![(6, 0, 2)]),
        Step::Write(0, vec![(2, 0, 0)]),
        Step::Editor(2),
        Step::User("accept row"),
        Step::User("undo turn"),
    ]);
}

#[test]
fn a_reject_after_the_session_has_closed_ends_although_another_program_changed_the_file() {
    check(&[
        Step::Write(2, vec![]),
        Step::Shell(2, vec![]),
        Step::Buffer(2, "open"),
        Step::Foreign(2, 0),
        Step::User("close"),
    ]);
}

#[test]
fn a_mode_that_is_reported_together_with_a_save_of_the_user_is_brought_back_by_a_reject() {
    check(&[
        Step::Write(0, vec![]),
        Step::Foreign(0, 0),
        Step::Tool("announce", 0),
        Step::Buffer(0, "open"),
        Step::Look,
        Step::Buffer(0, "wipe"),
        Step::Whole(0, "mode"),
    ]);
}

#[test]
fn a_changed_mode_is_still_brought_back_by_a_reject_if_the_file_was_read_again() {
    check(&[
        Step::Write(0, vec![]),
        Step::Foreign(0, 0),
        call_begins(),
        Step::Whole(0, "mode"),
        Step::User("prompt"),
        Step::Look,
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
    ]);
}

#[test]
fn a_rejected_deletion_of_a_binary_file_gives_its_lines_back_to_the_buffer() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Tell,
        Step::Buffer(0, "open"),
        Step::User("accept row"),
        Step::Whole(0, "delete"),
    ]);
}

#[test]
fn a_file_that_became_binary_and_cannot_be_read_has_its_text_back_after_a_reject() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Buffer(0, "open"),
        Step::Broken(0, true),
        Step::Tell,
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn what_a_reject_reads_over_the_agents_own_lines_is_listed() {
    check(&[
        Step::Tool("announce", 0),
        Step::Write(0, vec![(0, 1, 1)]),
        Step::Whole(0, "bytes"),
        Step::Shell(0, vec![(2, 1, 1)]),
        Step::User("reject turn"),
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn the_agents_changes_before_and_after_a_report_are_listed_if_a_reject_reads_them() {
    check(&[
        Step::Write(0, vec![]),
        call_begins(),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Check,
        Step::Shell(0, vec![(0, 1, 1)]),
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::User("reject turn"),
    ]);
}

#[test]
fn the_agents_changes_around_a_report_of_its_write_are_listed_if_a_reject_reads_them() {
    check(&[
        call_begins(),
        Step::Write(0, vec![(2, 0, 1)]),
        Step::Foreign(0, 0),
        Step::Check,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Shell(0, vec![(4, 1, 0), (0, 0, 0)]),
        Step::Tell,
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::User("reject turn"),
    ]);
}

#[test]
fn an_agents_line_that_was_loaded_and_saved_again_before_its_report_stays_listed() {
    check(&[
        Step::Tool("announce", 0),
        Step::Shell(0, vec![(0, 0, 1), (0, 0, 0)]),
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(7, 1, 0)]),
        Step::Shell(0, vec![(7, 0, 1)]),
        Step::Chunk("agent_message_chunk", String::new()),
        Step::Buffer(0, "save"),
        Step::Write(0, vec![]),
        Step::Shell(0, vec![(0, 0, 1)]),
    ]);
}

#[test]
fn an_agents_line_that_was_loaded_and_saved_in_its_write_stays_listed() {
    check(&[
        Step::Tool("announce", 0),
        Step::Shell(0, vec![(0, 1, 1)]),
        Step::Write(0, vec![(1, 0, 1)]),
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn bytes_that_are_open_and_written_again_are_listed_in_the_next_neovim() {
    check(&[
        Step::Ask(0, "t1"),
        Step::User("yes"),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Buffer(0, "open"),
        Step::Tell,
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn an_agents_line_that_its_write_found_is_listed_after_an_undone_reject() {
    check(&[
        call_begins(),
        Step::Shell(0, vec![(1, 0, 1)]),
        Step::Write(0, vec![(0, 0, 2)]),
        Step::Shell(0, vec![(1, 1, 2), (3, 2, 0)]),
        Step::User("reject"),
        Step::User("list undo"),
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn a_reject_of_all_leaves_no_conflict_over_an_empty_file() {
    check(&[
        Step::Write(0, vec![]),
        call_begins(),
        Step::Whole(0, "delete"),
        Step::Write(0, vec![(0, 1, 1)]),
        Step::Buffer(0, "open"),
        Step::User("accept row"),
    ]);
}

#[test]
fn what_a_buffer_reads_of_a_reported_change_is_listed_if_the_next_report_comes_first() {
    check(&[
        Step::Tool("announce", 0),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Write(0, vec![]),
        Step::Look,
        Step::Tell,
        Step::Buffer(0, "open"),
        Step::Shell(0, vec![(0, 0, 1)]),
    ]);
}

#[test]
fn what_a_buffer_reads_of_a_reported_change_is_listed_if_the_file_is_deleted_then() {
    check(&[
        Step::Tool("announce", 0),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Look,
        Step::Write(0, vec![]),
        Step::Tell,
        Step::Buffer(0, "open"),
        Step::Whole(0, "delete"),
    ]);
}

#[test]
fn a_save_before_a_reported_change_is_the_users_when_a_write_comes_first() {
    check_linked(&[
        Step::Write(0, vec![(0, 0, 0)]),
        Step::Propose(0, vec![(0, 0, 0)]),
        Step::Read(0, None, None),
        Step::Foreign(0, 0),
        Step::User("yes"),
        Step::Buffer(0, "open"),
        Step::Type(0, 4, 0, 1),
        Step::Check,
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Foreign(0, 0),
        Step::Shell(0, vec![(5, 2, 0)]),
    ]);
}

#[test]
fn a_buffer_that_is_loaded_during_a_write_has_its_text_after_the_session_is_closed() {
    check(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Disk(0),
        Step::User("prompt"),
        Step::Buffer(0, "open"),
        Step::User("close"),
        Step::User("open"),
    ]);
}

#[test]
fn a_line_of_the_user_in_a_hunk_that_a_command_takes_away_is_kept_when_a_decision_reads_first() {
    check(&[
        Step::Write(0, vec![(1, 2, 0)]),
        call_begins(),
        Step::Shell(0, vec![]),
        Step::Buffer(0, "open"),
        Step::Type(0, 1, 1, 2),
        Step::Type(0, 6, 2, 1),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![(0, 1, 0)]),
        Step::User("accept"),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn a_file_that_an_agent_deletes_and_writes_again_is_restored_over_its_bytes() {
    check(&[
        call_begins(),
        Step::Whole(0, "delete"),
        Step::Write(0, vec![]),
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn a_format_that_a_wiped_buffer_had_is_announced() {
    check(&[
        call_begins(),
        Step::Write(0, vec![]),
        Step::Whole(0, "crlf"),
        Step::Buffer(0, "open"),
        Step::Broken(0, true),
        Step::Buffer(0, "wipe"),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn what_the_agent_writes_while_a_reject_reads_the_file_into_its_buffer_is_listed() {
    check(&[
        Step::Write(0, vec![(0, 0, 1)]),
        call_begins(),
        Step::Foreign(0, 0),
        Step::User("reject"),
        Step::Disk(0),
        Step::Buffer(0, "open"),
        Step::Shell(0, vec![(2, 0, 1)]),
    ]);
}

#[test]
fn what_was_reported_before_the_read_of_a_binary_file_is_announced() {
    check(&[
        call_begins(),
        Step::Shell(0, vec![(3, 1, 0), (6, 1, 1)]),
        Step::Check,
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Buffer(0, "wipe"),
        Step::Tell,
        Step::User("undo turn"),
    ]);
}

#[test]
fn a_file_of_the_agents_that_was_opened_and_closed_before_its_report_is_new_in_the_next_neovim() {
    check(&[
        call_begins(),
        Step::Shell(2, vec![(0, 0, 1)]),
        Step::Buffer(2, "open"),
        Step::Buffer(2, "wipe"),
    ]);
}

#[test]
fn the_same_bytes_written_again_are_the_agents_in_the_next_neovim() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn a_line_typed_over_the_agents_before_the_report_stays_when_the_turn_is_rejected() {
    check(&[
        Step::Foreign(0, 6),
        call_begins(),
        Step::Buffer(0, "open"),
        Step::Type(0, 8, 2, 1),
        Step::Look,
        Step::Type(0, 2, 0, 0),
        Step::Tell,
        Step::User("reject turn"),
    ]);
}

#[test]
fn an_agents_line_that_was_read_before_its_report_is_listed_beside_the_next() {
    check(&[
        Step::Tool("announce", 0),
        Step::Shell(0, vec![(0, 1, 1)]),
        Step::Write(0, vec![]),
        Step::Buffer(0, "open"),
        Step::Foreign(0, 0),
        Step::Buffer(0, "wipe"),
    ]);
}

#[test]
fn a_mode_that_is_told_after_a_save_is_restored() {
    check(&[
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Tool("announce", 0),
        Step::Whole(0, "mode"),
        Step::Buffer(0, "open"),
        Step::Shell(0, vec![(1, 0, 1)]),
        Step::Write(0, vec![]),
        Step::Buffer(0, "wipe"),
        Step::User("reject turn"),
        Step::User("prompt"),
    ]);
}

#[test]
fn the_line_ends_of_a_file_of_one_line_are_as_they_were() {
    check(&[
        Step::Buffer(1, "open"),
        Step::Write(1, vec![(0, 1, 0), (0, 1, 0)]),
        Step::Editor(2),
        Step::Buffer(1, "undo"),
    ]);
}

#[test]
fn bytes_that_the_user_has_removed_in_a_buffer_are_rejected_in_the_next_neovim() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Type(0, 0, 1, 0),
        Step::Shell(0, vec![]),
    ]);
}

#[test]
fn bytes_that_were_accepted_as_lines_are_restored_as_they_were() {
    check(&[
        call_begins(),
        Step::Write(0, vec![]),
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Shell(0, vec![]),
        Step::User("accept turn"),
    ]);
}

#[test]
fn a_mode_that_is_set_right_after_a_restore_is_restored() {
    check(&[
        Step::Tool("announce", 0),
        Step::Whole(0, "delete"),
        Step::Look,
        Step::Tell,
        Step::User("reject turn"),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::Whole(0, "mode"),
    ]);
}

#[test]
fn what_was_rejected_before_its_report_is_not_accepted_by_it() {
    check(&[
        Step::User("prompt"),
        Step::Check,
        Step::Tell,
        Step::Answer(0, 0),
        Step::Shell(0, vec![(0, 1, 1)]),
        Step::Write(0, vec![(0, 2, 1)]),
        Step::Check,
        Step::Write(0, vec![(1, 2, 0), (4, 0, 2)]),
        Step::Shell(0, vec![(0, 0, 1)]),
        Step::User("reject turn"),
    ]);
}

#[test]
fn line_ends_that_an_agent_changes_right_after_a_save_are_restored() {
    check(&[
        Step::Buffer(0, "open"),
        Step::Write(0, vec![(0, 0, 1)]),
        Step::Propose(0, vec![]),
        Step::Editor(2),
        Step::Buffer(0, "wipe"),
        Step::Chunk("agent_message_chunk", String::new()),
        Step::User("yes"),
        Step::Whole(0, "crlf"),
    ]);
}

#[test]
fn bytes_that_were_accepted_as_lines_are_not_pending_after_their_restore() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Buffer(0, "open"),
        Step::Look,
        Step::Tell,
        Step::Chunk("agent_message_chunk", String::new()),
        Step::Shell(0, vec![]),
        Step::User("accept"),
        Step::Shell(0, vec![(2, 1, 0)]),
    ]);
}

#[test]
fn lines_of_bytes_that_were_accepted_stay_beside_a_foreign_one() {
    check(&[
        Step::Propose(0, vec![]),
        call_begins(),
        Step::Carry(0),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Buffer(0, "open"),
        Step::User("accept"),
        Step::Foreign(0, 0),
    ]);
}

#[test]
fn a_conflict_beside_bytes_is_there_in_the_next_neovim() {
    check(&[
        Step::Tool("announce", 0),
        Step::Whole(0, "mode"),
        Step::Buffer(0, "open"),
        Step::Propose(0, vec![(0, 1, 0)]),
        Step::Carry(0),
        Step::Whole(0, "bytes"),
    ]);
}

#[test]
fn what_a_reject_leaves_of_a_new_file_before_its_report_is_the_agents() {
    check(&[
        Step::Tool("announce", 0),
        Step::Check,
        Step::Write(2, vec![(0, 0, 1)]),
        Step::Shell(2, vec![(0, 0, 1)]),
        Step::User("reject row"),
    ]);
}

/// An agent's call begins, outside a turn.
fn call_begins() -> Step {
    Step::Update(json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t1",
        "status": "pending",
        "content": [],
    }))
}

#[test]
fn a_write_that_the_agent_takes_back_at_once_is_not_listed() {
    check(&[
        Step::Write(0, vec![(4, 0, 2)]),
        Step::Update(json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t1",
            "_meta": { "terminal_info": { "terminal_id": "x" } },
        })),
        Step::Shell(0, vec![(4, 2, 0)]),
    ]);
}

#[test]
fn bytes_that_are_back_after_a_text_in_between_are_there_in_the_next_neovim() {
    check(&[
        call_begins(),
        Step::Whole(0, "bytes"),
        Step::Look,
        Step::Shell(0, vec![(2, 1, 1)]),
        Step::Write(0, vec![]),
        Step::Whole(0, "bytes"),
    ]);
}
