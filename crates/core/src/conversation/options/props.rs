//! Random changes of a session's options by the user and the agent. Invariant: each option shows
//! the value that was requested last, or else the agent's.

use proptest::prelude::*;

use super::*;
use acp::{Choice, Way};

/// One random step.
#[derive(Debug, Clone)]
enum Step {
    /// The user requests a value of one of the options.
    Ask(usize, usize),
    /// The user opens the choice of a value, and picks one.
    Choose(usize, usize),
    Chosen,
    /// The agent answers one of the requests: with all options, with none, or with an error.
    Takes(usize, Vec<usize>),
    TakesSilently(usize),
    Refuses(usize),
    /// The agent changes options by itself, or removes some.
    Config(Vec<usize>),
    Mode(usize),
    /// A new process opens the session.
    Again(Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    let values = || proptest::collection::vec(0..3_usize, 0..4);
    prop_oneof![
        4 => (0..4_usize, 0..4_usize).prop_map(|(option, value)| Step::Ask(option, value)),
        2 => (0..4_usize, 0..4_usize).prop_map(|(option, value)| Step::Choose(option, value)),
        1 => Just(Step::Chosen),
        2 => (0..3_usize, values()).prop_map(|(at, values)| Step::Takes(at, values)),
        2 => (0..3_usize).prop_map(Step::TakesSilently),
        2 => (0..3_usize).prop_map(Step::Refuses),
        1 => values().prop_map(Step::Config),
        1 => (0..3_usize).prop_map(Step::Mode),
        1 => values().prop_map(Step::Again),
    ]
}

fn id(value: usize) -> ConfigValue {
    ConfigValue::Id(format!("v{value}"))
}

/// Returns one option per value; the first is the mode.
fn options(values: &[usize]) -> Vec<SessionOption> {
    let choices = (0..3).map(|value| Choice {
        id: format!("v{value}"),
        name: format!("V {value}"),
        description: None,
        group: None,
    });
    let choices: Vec<Choice> = choices.collect();
    let named = values.iter().enumerate().map(|(at, value)| SessionOption {
        id: format!("o{at}"),
        name: format!("O {at}"),
        description: None,
        category: (at == 0).then(|| "mode".to_owned()),
        way: Way::Config,
        value: id(*value),
        choices: choices.clone(),
    });
    named.collect()
}

fn live(options_now: &mut Options, step: Step, tokens: &mut u64) {
    let number = |options: &Options, at: usize| {
        let at = at.min(options.asked.len().saturating_sub(1));
        options.asked.get(at).map(|change| change.number)
    };
    match step {
        Step::Ask(option, value) | Step::Choose(option, value) => {
            let wish = Setting::Option {
                id: format!("o{option}"),
                value: id(value),
            };
            let Ok((meant, value)) = options_now.meant(&wish) else {
                return;
            };
            if let Step::Choose(..) = step {
                *tokens += 1;
                options_now.choose(&meant.id, value, Token::new(*tokens));
            } else {
                options_now.ask(&meant.id, value);
            }
        }
        Step::Chosen => {
            if let Some((option, value)) = options_now.take_chosen(None) {
                options_now.ask(&option.id, value);
            }
        }
        Step::Takes(at, values) => {
            if let Some(number) = number(options_now, at) {
                options_now.answered(number, Ok(Some(options(&values))));
            }
        }
        Step::TakesSilently(at) => {
            if let Some(number) = number(options_now, at) {
                options_now.answered(number, Ok(None));
            }
        }
        Step::Refuses(at) => {
            if let Some(number) = number(options_now, at) {
                options_now.answered(number, Err(()));
            }
        }
        Step::Config(values) => options_now.config_is(options(&values)),
        Step::Mode(value) => options_now.mode_is(format!("v{value}")),
        Step::Again(values) => {
            options_now.begin();
            options_now.opened(options(&values));
            for (option, value) in options_now.take_wishes() {
                options_now.ask(&option.id, value);
            }
        }
    }
}

/// Checks the invariant after a step.
fn check(options: &Options) {
    for shown in options.shown.iter() {
        let wanted = options.asked.iter();
        let mut wanted = wanted
            .chain(options.choosing.as_ref().map(|of| &of.0))
            .rev();
        let last = wanted.find(|change| change.option == shown.id);
        let held = options.held.iter().find(|option| option.id == shown.id);
        let held = held.map(|option| &option.value);
        assert_eq!(
            Some(&shown.value),
            last.map(|change| &change.value).or(held)
        );
    }
    assert_eq!(options.shown.len(), options.held.len());
}

proptest! {
    #[test]
    fn what_is_shown_is_what_was_asked_for_last_or_what_the_agent_has(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut now = Options::default();
        now.opened(options(&[0, 1, 2]));
        let mut tokens = 0;
        let mut shown = Arc::clone(now.shown());
        now.news();
        for step in steps {
            live(&mut now, step, &mut tokens);
            check(&now);
            // Every change is reported.
            let is_told = now.news().is_some_and(|news| !news.changed.is_empty());
            prop_assert_eq!(is_told, *shown != **now.shown());
            shown = Arc::clone(now.shown());
        }
        // Once every request is answered, the agent's values are shown.
        now.take_chosen(None);
        while let Some(change) = now.asked.first() {
            let number = change.number;
            now.answered(number, Err(()));
        }
        prop_assert_eq!(&*now.held, &**now.shown());
    }
}
