//! One event in, its effects out.
//!
//! Invariants: `update` never fails; the model stays consistent for any event. Events that stream in
//! may be settled together; the transcript, the screen and the record are the same either way.

use super::text::Text;
use crate::conversation::agent::{Call, PermissionRequest};
use crate::conversation::jobs::TimerJob;
use crate::conversation::questions::ElicitationRequest;
use crate::conversation::queue::When;
use crate::conversation::session::Session;
use crate::event::{
    AgentEvent, BufferEvent, ConversationEvent, Event, ProjectEvent, ReviewEvent, SessionEvent,
    ToolEvent, ViewEvent,
};
use crate::model::Model;
use crate::spine::asker::{Asker, unknown_session};
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::Level;
use crate::spine::ids::AgentKey;
use crate::terminals::{Caller, TerminalEvent};
use crate::workspace::Signal;
use crate::workspace::window::Limit;
use acp::{AgentNotification, AgentRequest, MAX_LINE, Message, RequestId, RpcError, Update, rpc};

/// Applies an event to the model and appends the resulting effects.
///
/// `more` returns the next event if it waits already and [`is_streamed`]. Such events are settled
/// with a first one that streams in too: what an event costs otherwise does not depend on its size.
/// An effect ends the batch, so none waits for other events.
pub fn update(
    model: &mut Model,
    event: Event,
    fx: &mut Effects,
    mut more: impl FnMut() -> Option<Event>,
) {
    let due = Due::after(&event);
    let is_batch = is_streamed(&event);
    let mut next = Some(event);
    while let Some(event) = next {
        apply(model, event, fx);
        react(model, fx);
        next = (is_batch && fx.is_empty()).then(&mut more).flatten();
    }
    settle(model, due, fx);
}

/// Returns whether an event only adds to what the screen shows, as thousands in a row may do: then
/// nothing is reported between it and the next such event.
pub fn is_streamed(event: &Event) -> bool {
    let Event::Agent(AgentEvent::Message {
        message: Message::Notification(AgentNotification::Update { update, .. }),
        ..
    }) = event
    else {
        return false;
    };
    // A new value of an option has a notice, which goes before the messages that follow.
    matches!(
        update,
        Update::Chunk { .. } | Update::ToolCall(_) | Update::Plan(_) | Update::Usage { .. }
    ) && update.mode_of_gemini().is_none()
}

/// The reports that are due after an event.
struct Due {
    /// The editor has asked for a frame, or for the rest of one.
    frame: bool,
    /// The progress of tool calls, even if nothing else is announced.
    progress: bool,
    /// The state of reviews. An undo, like an agent's write, may consist of a thousand edits:
    /// reports wait until all are applied, until the next frame at the latest.
    reviews: bool,
}

impl Due {
    fn after(event: &Event) -> Self {
        let frame = matches!(
            event,
            Event::View(ViewEvent::FrameWanted { .. } | ViewEvent::FrameSlice)
        );
        let is_terminal = matches!(
            event,
            Event::Terminal(
                TerminalEvent::Started { .. }
                    | TerminalEvent::Failed { .. }
                    | TerminalEvent::Exited { .. }
            )
        );
        Self {
            frame,
            progress: frame || is_terminal,
            reviews: !matches!(event, Event::Buffer(BufferEvent::Lines { .. })),
        }
    }
}

/// Sends the reports that are due, room by room from below.
fn settle(model: &mut Model, due: Due, fx: &mut Effects) {
    if due.reviews {
        model.settle_reviews(fx);
    }
    model.workspace.settle(due.reviews, fx);
    if due.frame {
        model.compose(fx);
    }
    model.conversation.settle(fx);
    model.tell_progress(due.progress, fx);
    model.settle_view(fx);
}

/// Passes on what the rooms below report, until none has anything to report.
fn react(model: &mut Model, fx: &mut Effects) {
    model.workspace.take_later(fx);
    loop {
        let signals = model.workspace.take_signals();
        if signals.is_empty() && !fx.has_tool_answers() {
            break;
        }
        for signal in signals {
            match signal {
                Signal::CheckpointTaken(session) => model.send_prompt(session, fx),
                Signal::Read {
                    session,
                    path,
                    line,
                } => model.follow_read(session, &path, line),
                Signal::Wrote(edit) => {
                    model.place_diffs_of(&edit);
                    model.follow_write(&edit);
                }
                Signal::Changed(edit) => {
                    model.place_diffs_of(&edit);
                    model.follow_change(&edit);
                }
            }
        }
        model.answer_tools(fx);
    }
    for notice in fx.take_notices() {
        let (session, text) = (notice.session, notice.text);
        model.conversation.notice(session, notice.level, text);
    }
}

fn apply(model: &mut Model, event: Event, fx: &mut Effects) {
    match event {
        Event::Session(event) => session_event(model, event, fx),
        Event::Conversation(event) => conversation_event(model, event, fx),
        Event::Review(event) => review_event(model, event, fx),
        Event::View(event) => view_event(model, event, fx),
        Event::Tool(event) => tool_event(model, event, fx),
        Event::Buffer(event) => buffer_event(model, event, fx),
        Event::Agent(event) => agent_event(model, event, fx),
        Event::Project(event) => project_event(model, event, fx),
        Event::Answer { id, answer } => model.question_answered(id, answer, fx),
        Event::Configure {
            limits,
            feedback,
            preview,
            accept_allowed,
            rules,
            follow,
        } => {
            model.questions.set_rules(rules);
            model.conversation.set_limits(limits);
            model.view.set_follow_default(follow);
            model.workspace.configure(preview, accept_allowed, feedback);
            model.conversation.touch_feedback();
        }
        Event::Quit => model.quit(fx),
        Event::Terminal(event) => model.terminals.apply(event, fx),
        Event::Log { level, line } => fx.push(log(level, line)),
        Event::Panicked { place, message } => panicked(place, &message, fx),
        Event::DiskRead { token, result } => {
            if let Some(result) = model.workspace.disk_was_read(token, result, fx) {
                let ready = model.conversation.content_read(token, result);
                model.send_ready(ready, fx);
            }
        }
        Event::DiskWritten { token, result } => model.workspace.disk_was_written(token, result, fx),
        Event::Resolved { token, paths } => {
            if let Some(check) = model.questions.take_check(token) {
                model.rules_checked(&check, paths, fx);
            }
        }
        Event::Timer { token } => match model.conversation.timer_ended(token) {
            Some(TimerJob::Control { agent, id }) => model.control_timeout(agent, id, fx),
            Some(TimerJob::Cancelled { session, request }) => {
                model.cancel_is_late(session, request, fx);
            }
            Some(TimerJob::Quiet(session)) => model.quiet_passed(session, fx),
            Some(TimerJob::Second(session)) => model.second_passed(session, token, fx),
            Some(TimerJob::OptionChosen(session)) => {
                model
                    .conversation
                    .ask_chosen_option(session, Some(token), fx);
            }
            Some(TimerJob::Listing(number)) => model.conversation.list_is_due(number, fx),
            Some(TimerJob::Loaded(loaded)) => model.silence_passed(loaded, fx),
            None => model.tool_timer(token, fx),
        },
    }
}

fn session_event(model: &mut Model, event: SessionEvent, fx: &mut Effects) {
    match event {
        SessionEvent::Open {
            session,
            spec,
            roots,
            project,
            origin,
            reach,
        } => {
            let opened = Session::new(*spec, roots, project, origin, reach);
            model.open(session, opened, fx);
            model.conversation.recall(session, fx);
        }
        SessionEvent::Prompt { session, prompt } => model.prompt(session, prompt, When::InTurn, fx),
        SessionEvent::Interrupt { session, prompt } => {
            model.prompt(session, prompt, When::AtOnce, fx)
        }
        SessionEvent::Steer { session, prompt } => model.prompt(session, prompt, When::Steer, fx),
        SessionEvent::Queued {
            session,
            id,
            action,
        } => model.queue_action(session, id, action, fx),
        SessionEvent::Attach { session, items } => model.conversation.attach(session, items),
        SessionEvent::AttachImage { session, path } => {
            model.conversation.attach_image(session, path, fx)
        }
        SessionEvent::Remember { session, text } => model.conversation.remember(session, &text, fx),
        SessionEvent::FilesWanted { session } => model.conversation.list_files(session, fx),
        SessionEvent::Detach { session, which } => model.conversation.detach(session, which, fx),
        SessionEvent::Cancel { session } => model.stop_turn(session, fx),
        SessionEvent::Stop { session } => model.stop(session, fx),
        SessionEvent::Restart { session } => model.restart(session, fx),
        SessionEvent::Close { session } => model.close(session, fx),
        SessionEvent::Login {
            session,
            method,
            step,
        } => model.login(session, &method, step, fx),
        SessionEvent::Logout { session } => model.conversation.logout(session, fx),
        SessionEvent::Remembered { session, values } => {
            model.conversation.remembered(session, &values, fx);
            model.next_prompt(session, fx);
        }
        SessionEvent::SetOption { session, wish } => {
            model.conversation.set_option(session, wish, fx)
        }
    }
}

fn conversation_event(model: &mut Model, event: ConversationEvent, fx: &mut Effects) {
    match event {
        ConversationEvent::PromptsRecalled { folder, texts } => {
            model.conversation.recalled(folder, texts, fx)
        }
        ConversationEvent::FilesListed { folder, paths } => {
            model.conversation.files_listed(folder, paths, fx)
        }
        ConversationEvent::PlacePlans(place) => model.conversation.set_plan_place(place),
        ConversationEvent::KeepSessions(bounds) => model.conversation.keep_sessions(bounds, fx),
        ConversationEvent::Wish { number, wish } => model.conversation.wish(number, wish, fx),
        ConversationEvent::ImageRead { token, result } => {
            let ready = model.conversation.image_read(token, result, fx);
            model.send_ready(ready, fx);
        }
        ConversationEvent::DiffRead { token, result } => {
            let ready = model.conversation.diff_read(token, result, fx);
            model.send_ready(ready, fx);
        }
        ConversationEvent::History { token, news } => {
            if let Some(key) = model.conversation.history_news(token, news, fx) {
                model.connect(key, fx);
            }
        }
    }
}

fn review_event(model: &mut Model, event: ReviewEvent, fx: &mut Effects) {
    match event {
        ReviewEvent::Decide { action, scope } => {
            model.workspace.review(action, scope, fx);
            model.answer_decided(fx);
        }
        ReviewEvent::DropFeedback { session } => model.drop_feedback(session, fx),
        ReviewEvent::UndoTurn { session, step } => model.workspace.undo_turn(session, step, fx),
    }
}

fn view_event(model: &mut Model, event: ViewEvent, fx: &mut Effects) {
    match event {
        ViewEvent::Follow { session, to } => model.follow(session, to, fx),
        ViewEvent::WholeWanted { session, whole } => model.show_whole(session, whole, fx),
        ViewEvent::List(event) => model.list(event, fx),
        ViewEvent::FrameWanted { output, size } => {
            model.terminals.set_output(output);
            model.view.set_frame_size(size);
        }
        ViewEvent::FrameSlice => {}
        ViewEvent::ChatEmpty { session } => {
            if let Some(found) = model.conversation.session_mut(session) {
                model.view.chat_is_empty(session, found.transcript_mut());
            }
        }
        ViewEvent::ChatSeen { session, rows } => model.chat_seen(session, rows),
        ViewEvent::QuestionWanted { session } => model.questions.bring_session_forward(session),
        ViewEvent::FoldsWanted { session } => model.view.want_folds(session),
        ViewEvent::Highlighted { token, result } => model.highlighted(token, result),
    }
}

fn tool_event(model: &mut Model, event: ToolEvent, fx: &mut Effects) {
    match event {
        ToolEvent::Door(door) => model.tools.tool_door(door),
        ToolEvent::Defined(tools) => model.tools.tools_defined(tools, fx),
        ToolEvent::Switched { name, on } => model.tools.tool_switched(&name, on, fx),
        ToolEvent::Asked { id, number, ask } => model.tool_asked(id, number, ask, fx),
        ToolEvent::Progressed { id, progress } => model.tool_progressed(id, progress, fx),
        ToolEvent::Done { id, result } => model.tool_done(id, result, fx),
        ToolEvent::ServerFailed { why } => model.tools.tool_server_failed(why, fx),
        ToolEvent::Begun { id, session, name } => model.tool_begun(id, session, name, fx),
        ToolEvent::Used {
            id,
            session,
            name,
            arguments,
        } => model.tool_used(id, session, name, arguments, fx),
        ToolEvent::GivenUp { id } => model.tool_given_up(id, fx),
    }
}

fn buffer_event(model: &mut Model, event: BufferEvent, fx: &mut Effects) {
    match event {
        BufferEvent::Attached {
            buf,
            path,
            real,
            row,
            text,
            state,
            stamp,
        } => {
            model.view.buffer_came(&path, &real);
            let text = (row, Text::from_text(&text));
            model
                .workspace
                .buffer_attached(buf, (path, real), text, (state, stamp), fx);
        }
        BufferEvent::Slice {
            buf,
            path,
            real,
            row,
            text,
        } => {
            let text = Text::from_text(&text);
            model
                .workspace
                .buffer_is_loading(buf, path, real, row, text);
        }
        BufferEvent::Lines {
            buf,
            tick,
            edit,
            made_for,
        } => model.workspace.buffer_edited(buf, tick, edit, made_for),
        BufferEvent::Changed { buf, state } => model.workspace.buffer_changed(buf, state),
        BufferEvent::Saved {
            buf,
            real,
            stamp,
            over,
            made_for,
        } => model
            .workspace
            .buffer_saved(buf, (real, stamp, over), made_for, fx),
        BufferEvent::Written {
            path,
            before,
            after,
            part_of,
        } => {
            if let Some((buf, bytes)) = part_of {
                model.workspace.user_wrote_part(buf, &bytes, after);
            }
            model.workspace.user_wrote(path, before, after, fx);
        }
        BufferEvent::Detached { buf } => {
            model.workspace.buffer_detached(buf, fx);
        }
        BufferEvent::Outdated { buf } => model.workspace.look_at_file(buf, fx),
        BufferEvent::Edited { buf, token, result } => {
            model.workspace.edit_was_answered(buf, token, result, fx);
        }
    }
}

fn agent_event(model: &mut Model, event: AgentEvent, fx: &mut Effects) {
    match event {
        AgentEvent::Started { agent, pid } => model.conversation.agent_started(agent, pid, fx),
        AgentEvent::Failed { agent, why } => model.agent_failed(agent, why, fx),
        AgentEvent::Message { agent, message } => agent_message(model, agent, message, fx),
        AgentEvent::Exited {
            agent,
            status,
            stderr,
        } => {
            model.conversation.forget_timeouts(agent);
            model.agent_exited(agent, status, &stderr, fx);
        }
    }
}

fn project_event(model: &mut Model, event: ProjectEvent, fx: &mut Effects) {
    match event {
        ProjectEvent::Changed { changes, .. } => model.workspace.disk_changed(changes, fx),
        ProjectEvent::WatchLimited { root, why } => {
            model
                .workspace
                .project_is_limited(&root, Limit::Watch, &why, fx);
        }
        ProjectEvent::Committed { files, turns } => model.workspace.committed(files, turns, fx),
        ProjectEvent::ReviewsKept { root, files } => model.workspace.reviews_kept(&root, files, fx),
        ProjectEvent::CheckpointTaken { token, result } => {
            model.workspace.checkpoint_was_answered(token, result, fx);
        }
    }
}

fn agent_message(model: &mut Model, agent: AgentKey, message: Message, fx: &mut Effects) {
    if model.conversation.agent(agent).is_none() {
        return;
    }
    model.conversation.heard(agent);
    match message {
        Message::Request { id, call } => agent_request(model, agent, id, call, fx),
        Message::Notification(AgentNotification::Update { session, update }) => {
            model.session_update(agent, session, update, fx);
        }
        Message::Notification(AgentNotification::CancelRequest { id }) => {
            model.request_cancelled(agent, &id, fx);
        }
        Message::Notification(AgentNotification::ElicitationComplete { id }) => {
            model.page_is_done(agent, &id, fx);
        }
        Message::Notification(AgentNotification::Unknown { method }) => {
            fx.push(log(Level::Debug, format!("notification {method}: unknown")));
        }
        Message::Notification(AgentNotification::Invalid { method, why }) => {
            fx.push(log(Level::Warn, format!("notification {method}: {why}")));
        }
        Message::Response { id, result } => response(model, agent, id, result, fx),
        Message::Noise(line) => {
            fx.push(log(Level::Warn, format!("no JSON-RPC on stdout: {line}")));
        }
        Message::TooLong { bytes } => {
            let text = format!(
                "The agent sent a message of {} MiB, which was dropped: the limit is {} MiB.",
                bytes >> 20,
                MAX_LINE >> 20
            );
            for key in model.conversation.sessions_of(agent) {
                model.conversation.notice(key, Level::Error, text.clone());
            }
            fx.push(log(Level::Error, text));
        }
    }
}

fn agent_request(
    model: &mut Model,
    agent: AgentKey,
    id: RequestId,
    mut call: AgentRequest,
    fx: &mut Effects,
) {
    model.conversation.translate_request(agent, &mut call);
    match call {
        AgentRequest::ReadTextFile {
            session,
            path,
            line,
            limit,
        } => {
            let asker = Asker::Agent(agent, id);
            match model.conversation.session_of(agent, &session) {
                Some(key) => model
                    .workspace
                    .read_file(asker, key, &path, (line, limit), fx),
                None => fx.reply_error(&asker, unknown_session(&session)),
            }
        }
        AgentRequest::WriteTextFile {
            session,
            path,
            content,
        } => {
            let asker = Asker::Agent(agent, id);
            match model.conversation.session_of(agent, &session) {
                Some(key) => model.workspace.write_file(asker, key, &path, content, fx),
                None => fx.reply_error(&asker, unknown_session(&session)),
            }
        }
        AgentRequest::Permission {
            session,
            tool_call,
            options,
        } => {
            let asked = PermissionRequest {
                request: id,
                session,
                tool: tool_call,
                options,
            };
            model.permission_requested(agent, asked, fx);
        }
        AgentRequest::Elicitation {
            scope,
            tool,
            message,
            mode,
        } => {
            let asked = ElicitationRequest {
                request: id,
                scope,
                tool,
                message,
                mode,
            };
            model.elicited(agent, asked, fx);
        }
        AgentRequest::Terminal { session, call } => {
            let key = model.conversation.session_of(agent, &session);
            let is_leaving = !model.conversation.is_staying(agent);
            match key.and_then(|key| Some((key, model.conversation.session(key)?))) {
                Some((key, found)) => {
                    let caller = Caller {
                        agent,
                        request: &id,
                        session: key,
                        folder: found.cwd(),
                        is_leaving,
                        is_in_turn: found.is_in_turn(),
                    };
                    model.terminals.request(&caller, call, fx);
                }
                None => fx.refuse(agent, &id, unknown_session(&session)),
            }
        }
        AgentRequest::Unknown { method } => {
            let message = format!("Method not found: {method}");
            let error = RpcError::new(rpc::METHOD_NOT_FOUND, message);
            fx.refuse(agent, &id, error);
        }
        AgentRequest::Invalid { method, why } => {
            fx.push(log(Level::Warn, format!("{method}: {why}")));
            fx.refuse(agent, &id, RpcError::new(rpc::INVALID_PARAMS, why));
        }
    }
}

fn response(
    model: &mut Model,
    agent: AgentKey,
    id: u64,
    result: Result<serde_json::Value, RpcError>,
    fx: &mut Effects,
) {
    match model.conversation.take_call(agent, id, fx) {
        Some(Call::Initialize) => model.initialized(agent, result, fx),
        Some(Call::NewSession(key)) => {
            model.session_created(agent, key, result, fx);
            model.take_early_permissions(agent, fx);
        }
        Some(Call::SetOption {
            session, change, ..
        }) => {
            let result = result.map_err(|error| error.to_string());
            model
                .conversation
                .option_answered(agent, session, change, result, fx);
            // It may have waited for a value of the config.
            model.next_prompt(session, fx);
        }
        Some(Call::Steer(key)) => model.steered(agent, key, id, result, fx),
        Some(Call::LoadSession(key) | Call::ResumeSession(key)) => {
            model.session_is_back(agent, key, result, fx);
        }
        Some(Call::ListSessions(listing)) => {
            model.conversation.page_listed(agent, *listing, result, fx)
        }
        Some(Call::DeleteSession(session)) => model
            .conversation
            .session_deleted(agent, session, result, fx),
        Some(Call::Orphan(_, session)) => model
            .conversation
            .orphan_answered(agent, session, result, fx),
        // The session is closed here; a refusal changes nothing.
        Some(Call::CloseSession(_)) => {}
        Some(Call::Prompt(key)) => model.prompt_answered(agent, key, id, result, fx),
        Some(Call::Authenticate { session, method }) => {
            model.authenticated(agent, session, &method, result, fx);
        }
        Some(Call::Logout(key)) => model.conversation.logged_out(key, result, fx),
        None => {}
    }
}

/// Reports a caught panic to the user and in the log.
fn panicked(place: &str, message: &str, fx: &mut Effects) {
    fx.push(log(Level::Error, format!("panic in {place}: {message}")));
    fx.push(notify(
        Level::Error,
        format!("An internal error in {place} was caught; your text is safe. `:Acp log` has the details."),
    ));
}
