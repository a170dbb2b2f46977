//! Random lives of the queue: each request gets one reply, and the shown question stays.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::elicitation::{Elicitation, ElicitationAnswer};
use super::permission::Permission;
use super::rules::{Asked, Facts};
use super::*;
use crate::form::{Ask, Form};
use crate::spine::asker::ToolRequest;
use crate::spine::ids::ToolUseId;
use acp::{OptionKind, PermissionOption, ToolCallPatch};

#[derive(Debug, Clone)]
enum Step {
    Permission(u32),
    Form(u32),
    Answer(u64, &'static str),
    Cancel(u32),
    Withdraw(u64),
    Forward(u64),
    ForwardIn(u32),
    Frame,
}

fn step() -> impl Strategy<Value = Step> {
    let session = 0..3u32;
    let number = 0..12u64;
    let said = prop::sample::select(vec!["yes", "odd", "accept", "decline"]);
    prop_oneof![
        3 => session.clone().prop_map(Step::Permission),
        3 => session.clone().prop_map(Step::Form),
        4 => (number.clone(), said).prop_map(|(id, said)| Step::Answer(id, said)),
        1 => session.clone().prop_map(Step::Cancel),
        1 => session.prop_map(Step::ForwardIn),
        1 => number.clone().prop_map(Step::Withdraw),
        1 => number.prop_map(Step::Forward),
        3 => Just(Step::Frame),
    ]
}

/// The queue, and the replies to its requests.
#[derive(Default)]
struct Life {
    questions: Questions,
    asked: u64,
    replies: BTreeMap<u64, usize>,
}

impl Life {
    fn asker(number: u64) -> Asker {
        Asker::Tool(ToolUseId(number), ToolRequest::Call)
    }

    fn ask(&mut self, session: u32, is_form: bool) {
        self.asked += 1;
        let (session, asker) = (SessionKey(session), Self::asker(self.asked));
        let mut out = Outcomes::new();
        if is_form {
            let elicitation = Elicitation {
                message: "?".to_owned(),
                ask: Ask::Form(Form::default()),
                importance: None,
            };
            self.questions
                .elicit(session, asker, None, elicitation, &mut out);
        } else {
            let tool = ToolCallId("t".into());
            let call = ToolCall::of(ToolCallPatch::new(tool.clone()));
            let facts = Facts {
                asked: Asked::of(&call, "bot", "/p".as_ref()),
                roots: Vec::new(),
                title: String::new(),
                has_begun: false,
            };
            let yes = PermissionOption {
                id: "yes".to_owned(),
                name: "Yes".to_owned(),
                kind: OptionKind::AllowOnce,
            };
            let permission = Permission::of_agent(vec![yes], None);
            let id = self.questions.ask(session, asker, tool, permission);
            self.questions.consult(id, &facts, &mut out);
        }
        self.count(out);
    }

    fn count(&mut self, out: Outcomes) {
        for outcome in out {
            if let Outcome::Reply(Asker::Tool(ToolUseId(number), _), _) = outcome {
                *self.replies.entry(number).or_default() += 1;
            }
        }
    }

    fn live(&mut self, step: &Step) {
        let mut out = Outcomes::new();
        match step {
            Step::Permission(session) => self.ask(*session, false),
            Step::Form(session) => self.ask(*session, true),
            Step::Answer(id, said) => {
                let answer = match *said {
                    "accept" => Answer::Elicitation(ElicitationAnswer::Accept(Map::new())),
                    "decline" => Answer::Elicitation(ElicitationAnswer::Decline),
                    option => Answer::Option(option.to_owned()),
                };
                self.questions.answer(QuestionId(*id), answer, &mut out);
            }
            Step::Cancel(session) => self.questions.cancel(SessionKey(*session), &mut out),
            Step::Withdraw(number) => {
                self.questions.withdraw(&Self::asker(*number), &mut out);
            }
            Step::Forward(id) => self.questions.bring_forward(QuestionId(*id)),
            Step::ForwardIn(session) => {
                self.questions.bring_session_forward(SessionKey(*session));
            }
            Step::Frame => self.questions.show(),
        }
        self.count(out);
    }
}

proptest! {
    #[test]
    fn each_request_gets_one_reply_and_the_question_on_the_screen_stays(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut life = Life::default();
        let mut on_screen = None;
        for step in &steps {
            life.live(step);
            let questions = &life.questions;
            let front = questions.front().map(|question| question.id);
            let is_open = on_screen.is_some_and(|id| questions.get(id).is_some());
            if is_open && !matches!(step, Step::Forward(_) | Step::ForwardIn(_)) {
                prop_assert_eq!(front, on_screen, "after {:?}", step);
            }
            if front != on_screen && !matches!(step, Step::Frame) {
                prop_assert!(questions.is_dirty(), "after {:?}", step);
            }
            if let Step::ForwardIn(session) = step
                && questions.wait_in(SessionKey(*session))
            {
                let shown = questions.front().map(|question| question.session.0);
                prop_assert_eq!(shown, Some(*session));
            }
            if let Step::Frame | Step::Forward(_) | Step::ForwardIn(_) = step {
                life.questions.show();
                on_screen = front;
            }
            for number in 1..=life.asked {
                let asker = Life::asker(number);
                let open = life.questions.iter().filter(|open| open.asker == asker).count();
                let replied = life.replies.get(&number).copied().unwrap_or_default();
                prop_assert_eq!(open + replied, 1, "request {}", number);
            }
        }
    }
}

#[test]
fn an_answer_of_the_wrong_kind_leaves_a_question_open() {
    let mut life = Life::default();
    life.ask(1, false);
    life.ask(1, true);
    life.live(&Step::Answer(1, "accept"));
    life.live(&Step::Answer(2, "yes"));
    assert_eq!(life.questions.behind(), 1);
    life.live(&Step::Answer(2, "accept"));
    life.live(&Step::Answer(1, "yes"));
    assert_eq!(life.replies, BTreeMap::from([(1, 1), (2, 1)]));
    assert!(life.questions.front().is_none());
}
