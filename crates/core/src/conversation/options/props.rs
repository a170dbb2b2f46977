//! Random lives of a session's options: whatever the user wants and the agent says in whatever
//! order, what is shown is what was asked for last, or else what the agent has.

use proptest::prelude::*;

use super::*;
use acp::{Choice, Way};

/// What happens.
#[derive(Debug, Clone)]
enum Step {
    /// The user asks for a value of one of the options.
    Ask(usize, usize),
    /// The user is choosing a value, and has chosen it.
    Choose(usize, usize),
    Chosen,
    /// The agent answers one of the changes: with all options, with none, or with an error.
    Takes(usize, Vec<usize>),
    TakesSilently(usize),
    Refuses(usize),
    /// The agent changes options by itself, or takes some away.
    Config(Vec<usize>),
    Mode(usize),
    /// The process is another one.
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

/// Returns as many options as there are values; the first is the mode.
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

/// What must hold after every step.
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
            // Nothing changes without being told.
            let is_told = now.news().is_some_and(|news| !news.changed.is_empty());
            prop_assert_eq!(is_told, *shown != **now.shown());
            shown = Arc::clone(now.shown());
        }
        // What is answered leaves nothing that was only wanted.
        now.take_chosen(None);
        while let Some(change) = now.asked.first() {
            let number = change.number;
            now.answered(number, Err(()));
        }
        prop_assert_eq!(&*now.held, &**now.shown());
    }
}
