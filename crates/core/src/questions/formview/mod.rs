//! The lines of a form or a page in the question window, and the meaning of each line.
//!
//! Invariant: there is one row per line, and every field has a row the cursor can reach.

#[cfg(test)]
mod tests;

use crate::form::page::Page;
use crate::form::{Ask, Choice, Entry, Field, Form, HIDDEN, Kind, Mistakes};
use crate::render::toolview::whole_line;
use crate::spine::view::{ElicitationView, Group, Line};

/// Maximum number of lines of a choice's preview.
const PREVIEW: usize = 40;

/// The meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// Text without a function.
    Text,
    /// The title of a field.
    Title(usize),
    /// The value of a field: its first line, or a further one.
    Value(usize),
    More(usize),
    /// A checkbox.
    Flag(usize),
    /// The numbers of a field and of one of its choices.
    Choice(usize, usize),
    Act(Act),
}

/// An action on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Submit,
    /// For a question without fields.
    Yes,
    No,
    Open,
    Copy,
    Decline,
    Dismiss,
}

impl Act {
    /// Returns the action's name in the configured keys.
    pub fn name(self) -> &'static str {
        match self {
            Act::Submit => "submit",
            Act::Yes => "yes",
            Act::No => "no",
            Act::Open => "open",
            Act::Copy => "copy",
            Act::Decline => "decline",
            Act::Dismiss => "dismiss",
        }
    }

    /// Returns whether the action discards the entries.
    pub fn drops(self) -> bool {
        matches!(self, Act::Decline | Act::Dismiss)
    }

    fn words(self) -> (&'static str, Group) {
        match self {
            Act::Submit => ("Submit", "AcpAllow"),
            Act::Yes => ("Yes", "AcpAllow"),
            Act::No => ("No", "AcpReject"),
            Act::Open => ("Open it in the browser", "AcpAllow"),
            Act::Copy => ("Copy the address", "AcpOption"),
            Act::Decline => ("Decline: the agent is told no", "AcpReject"),
            Act::Dismiss => ("Dismiss: neither yes nor no", "AcpOption"),
        }
    }
}

/// The user's entries so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    pub entries: Vec<Entry>,
    pub mistakes: Mistakes,
}

impl Draft {
    /// Returns the initial entries of a question.
    pub fn of(ask: &Ask) -> Self {
        Self {
            entries: match ask {
                Ask::Form(form) => form.entries(),
                Ask::Page { .. } => Vec::new(),
            },
            mistakes: Vec::new(),
        }
    }

    /// Returns whether the entries differ from the initial ones.
    pub fn is_filled_in(&self, ask: &Ask) -> bool {
        self.entries != Self::of(ask).entries
    }

    /// Toggles a checkbox or a choice.
    pub fn toggle(&mut self, form: &Form, row: Row) {
        let (number, choice) = match row {
            Row::Flag(number) => (number, 0),
            Row::Choice(number, choice) => (number, choice),
            _ => return,
        };
        let is_one = matches!(
            form.fields.get(number).map(|field| &field.kind),
            Some(Kind::One(_))
        );
        match self.entries.get_mut(number) {
            Some(Entry::Flag(flag)) => *flag = !*flag,
            Some(Entry::Chosen(chosen)) => {
                let was_chosen = chosen.remove(&choice);
                if is_one {
                    chosen.clear();
                }
                if !was_chosen {
                    chosen.insert(choice);
                }
            }
            _ => {}
        }
        self.forgive(number);
    }

    /// Selects a choice, unless it is selected.
    pub fn choose(&mut self, form: &Form, row: Row) {
        let Row::Choice(number, choice) = row else {
            return;
        };
        let entry = self.entries.get(number);
        let is_chosen = matches!(entry, Some(Entry::Chosen(all)) if all.contains(&choice));
        if !is_chosen {
            self.toggle(form, row);
        }
    }

    /// Sets the text of a field.
    pub fn write(&mut self, number: usize, text: String) {
        if let Some(Entry::Text(entry)) = self.entries.get_mut(number)
            && *entry != text
        {
            *entry = text;
            self.forgive(number);
        }
    }

    /// Removes the mistake of a field, because its entry changed.
    fn forgive(&mut self, number: usize) {
        self.mistakes.retain(|(wrong, _)| *wrong != number);
    }

    /// Returns the text of a field, if the user can type into it.
    pub fn text(&self, form: &Form, number: usize) -> Option<&str> {
        let is_known = !matches!(form.fields.get(number)?.kind, Kind::Unknown(_));
        match self.entries.get(number) {
            Some(Entry::Text(text)) if is_known => Some(text),
            _ => None,
        }
    }
}

/// Returns the actions on a question, in the order of their lines.
pub fn acts(ask: &Ask) -> Vec<Act> {
    match ask {
        Ask::Form(form) if form.fields.is_empty() => vec![Act::Yes, Act::No, Act::Dismiss],
        Ask::Form(_) => vec![Act::Submit, Act::Decline, Act::Dismiss],
        Ask::Page { page, .. } if page.is_web => {
            vec![Act::Open, Act::Copy, Act::Decline, Act::Dismiss]
        }
        Ask::Page { .. } => vec![Act::Copy, Act::Decline, Act::Dismiss],
    }
}

/// Returns whether a form consists of one choice, which answers it.
pub fn is_one_choice(ask: &Ask) -> bool {
    match ask {
        Ask::Form(form) => matches!(
            form.fields[..],
            [Field {
                kind: Kind::One(_),
                ..
            }]
        ),
        Ask::Page { .. } => false,
    }
}

/// Renders a question; `key_of` returns the key of an action.
pub fn render(
    view: &ElicitationView,
    draft: &Draft,
    key_of: impl Fn(Act) -> String,
) -> (Vec<Line>, Vec<Row>) {
    let mut page = Rendered::default();
    page.words(view.head.iter().cloned());
    match &view.ask {
        Ask::Form(form) => page.form(form, draft),
        Ask::Page { page: web, .. } => page.web(web),
    }
    page.gap();
    for act in acts(&view.ask) {
        let (words, group) = act.words();
        let text = format!(" {:<6} {words}", key_of(act));
        page.add(whole_line(text, group), Row::Act(act));
    }
    (page.lines, page.rows)
}

/// Returns the rows the cursor stops at: one for each field, then the actions.
pub fn stops(rows: &[Row], draft: &Draft) -> Vec<usize> {
    let mut stops = Vec::new();
    let mut last_field = None;
    for (at, row) in rows.iter().enumerate() {
        let field = match row {
            Row::Value(number) | Row::Flag(number) => *number,
            Row::Choice(number, choice) => {
                let chosen = match draft.entries.get(*number) {
                    Some(Entry::Chosen(chosen)) => chosen.first().copied().unwrap_or(0),
                    _ => 0,
                };
                if *choice != chosen {
                    continue;
                }
                *number
            }
            Row::Act(_) => {
                stops.push(at);
                continue;
            }
            _ => continue,
        };
        if last_field.replace(field) != Some(field) {
            stops.push(at);
        }
    }
    stops
}

#[derive(Default)]
struct Rendered {
    lines: Vec<Line>,
    rows: Vec<Row>,
}

impl Rendered {
    fn add(&mut self, line: Line, row: Row) {
        self.lines.push(line);
        self.rows.push(row);
    }

    fn words(&mut self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            self.add(line, Row::Text);
        }
    }

    /// Adds an empty line, unless it would be the first.
    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.text.is_empty()) {
            self.add(Line::default(), Row::Text);
        }
    }

    fn web(&mut self, page: &Page) {
        self.gap();
        let mut line = Line::default();
        match page.url.split_once(&page.host) {
            Some((before, after)) if !page.host.is_empty() => {
                line.push(before, "AcpDim");
                line.push(&page.host, "AcpFormHost");
                line.push(after, "AcpPath");
            }
            _ => line.push(&page.url, "AcpPath"),
        }
        self.add(line, Row::Text);
        if !page.host.is_empty() {
            self.gap();
            let mut line = Line::default();
            line.push("It leads to ", "AcpDim");
            line.push(&page.host, "AcpFormHost");
            self.add(line, Row::Text);
        }
        for warning in &page.warnings {
            self.add(whole_line((*warning).to_owned(), "AcpWarning"), Row::Text);
        }
    }

    fn form(&mut self, form: &Form, draft: &Draft) {
        let title = form.title.iter().map(|text| (text, "AcpTitle"));
        let words = title.chain(form.description.iter().map(|text| (text, "AcpDim")));
        for (text, group) in words {
            self.words(text.lines().map(|line| whole_line(line.to_owned(), group)));
        }
        for (number, field) in form.fields.iter().enumerate() {
            self.gap();
            match (&field.kind, draft.entries.get(number)) {
                (Kind::Flag, Some(Entry::Flag(flag))) => self.flag(number, field, *flag),
                (_, entry) => {
                    self.title(number, field);
                    self.value(number, field, entry);
                }
            }
            let mistakes = draft.mistakes.iter();
            for (_, why) in mistakes.filter(|(wrong, _)| *wrong == number) {
                let line = whole_line(format!("  ! {why}"), "AcpFormMistake");
                self.add(line, Row::Text);
            }
        }
    }

    fn flag(&mut self, number: usize, field: &Field, flag: bool) {
        let mut line = Line::default();
        line.push(if flag { "[x] " } else { "[ ] " }, "AcpOption");
        line.push(&field.title, "AcpFormTitle");
        describe(&mut line, field.description.as_deref());
        self.add(line, Row::Flag(number));
    }

    fn title(&mut self, number: usize, field: &Field) {
        let mut line = Line::default();
        line.push(&field.title, "AcpFormTitle");
        if field.is_required {
            line.push(" *", "AcpFormMistake");
        }
        describe(&mut line, field.description.as_deref());
        self.add(line, Row::Title(number));
    }

    fn value(&mut self, number: usize, field: &Field, entry: Option<&Entry>) {
        let choices: (&[Choice], [&str; 2]) = match &field.kind {
            Kind::One(choices) => (choices, ["( ) ", "(•) "]),
            Kind::Many(choices) => (choices, ["[ ] ", "[x] "]),
            Kind::Unknown(kind) => {
                let text = format!("  (a value of the type \"{kind}\" cannot be entered here)");
                return self.add(whole_line(text, "AcpDim"), Row::Value(number));
            }
            _ => (&[], ["", ""]),
        };
        match entry {
            Some(Entry::Chosen(chosen)) => {
                for (at, choice) in choices.0.iter().enumerate() {
                    let is_chosen = chosen.contains(&at);
                    let mut line = Line::plain("  ");
                    let [free, taken] = choices.1;
                    line.push(if is_chosen { taken } else { free }, "AcpOption");
                    line.push(&choice.title, "AcpFormValue");
                    describe(&mut line, choice.description.as_deref());
                    self.add(line, Row::Choice(number, at));
                    let preview = choice.preview.as_deref().unwrap_or_default();
                    for text in preview.lines().take(PREVIEW) {
                        self.add(whole_line(format!("      {text}"), "AcpDim"), Row::Text);
                    }
                }
            }
            Some(Entry::Text(text)) if !text.is_empty() && field.is_secret => {
                let line = whole_line(format!("  {HIDDEN}"), "AcpFormValue");
                self.add(line, Row::Value(number));
            }
            Some(Entry::Text(text)) if !text.is_empty() => {
                for (at, text) in text.split('\n').enumerate() {
                    let mut line = Line::plain("  ");
                    line.push(text, "AcpFormValue");
                    let row = if at == 0 { Row::Value } else { Row::More };
                    self.add(line, row(number));
                }
            }
            _ => self.add(whole_line("  …".to_owned(), "AcpDim"), Row::Value(number)),
        }
    }
}

fn describe(line: &mut Line, words: Option<&str>) {
    if let Some(words) = words {
        line.push("  ", "AcpDim");
        line.push(words, "AcpDim");
    }
}
