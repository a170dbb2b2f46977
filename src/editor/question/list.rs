//! A question in a list of `vim.ui.select`, for when its window cannot be drawn.

use nvim_oxi::mlua::{self, Table};

use super::{answer, shown};
use crate::editor::guard;
use crate::editor::nvim::{self, Callable};
use acp_core::questions::Answer;
use acp_core::questions::elicitation::ElicitationAnswer;
use acp_core::spine::view::{Line, QuestionView};

/// Asks the user to choose; a user who chooses nothing leaves the question open.
pub(super) fn ask() -> mlua::Result<()> {
    let Some(question) = shown() else {
        return Ok(());
    };
    let (title, lines, choices) = parts(&question);
    let texts = lines.iter().map(|line| line.text.as_str());
    let prompt: Vec<&str> = std::iter::once(title).chain(texts).collect();
    let names: Vec<String> = choices.iter().map(|(name, _)| name.clone()).collect();
    let id = question.id();
    let chosen = guard::callback(
        "question list",
        move |(_, at): (mlua::Value, Option<usize>)| {
            let chosen = at.and_then(|at| choices.get(at.checked_sub(1)?));
            match chosen {
                Some((_, chosen)) => answer(id, chosen.clone()),
                None => Ok(()),
            }
        },
    )?;
    let opts = nvim::table([("prompt", nvim::value(prompt.join("\n")))])?;
    let select: Callable = nvim::vim()?.get::<Table>("ui")?.get("select")?;
    select.call((names, opts, chosen))
}

/// Returns the title, the lines and the answers of a question.
fn parts(question: &QuestionView) -> (&str, &[Line], Vec<(String, Answer)>) {
    match question {
        QuestionView::Permission(view) => {
            let options = view.options.iter();
            let choice = |name: &str, option: &str| (name.into(), Answer::Option(option.into()));
            let choices = options.map(|option| choice(&option.name, &option.option));
            (&view.title, &view.lines, choices.collect())
        }
        QuestionView::Form(view) => {
            let choices = [
                ("Decline", ElicitationAnswer::Decline),
                ("Cancel", ElicitationAnswer::Cancel),
            ];
            let choices = choices.into_iter();
            let choices = choices.map(|(name, given)| (name.into(), Answer::Elicitation(given)));
            (&view.title, &view.head, choices.collect())
        }
    }
}
