//! Renders the screen as an SVG for the README.
//!
//! Every cell is where the grid puts it, with any font: each piece of text is fitted to the width
//! of its cells, and box-drawing characters and blocks are drawn as shapes.

use std::fmt::Write;
use std::sync::Arc;

use super::screen::{Screen, Style};

const CELL: (f32, f32) = (8.4, 18.0);
const FONT_SIZE: f32 = 14.0;
/// Distance from a cell's top to its baseline.
const BASELINE: f32 = 13.5;
const MARGIN: f32 = 12.0;
const FONTS: &str = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/// Adjacent cells of one row with the same style, `start..end`.
struct Run {
    start: usize,
    end: usize,
    text: String,
    style: Arc<Style>,
}

/// A run's colours, each as `#rrggbb`.
struct Colours {
    fg: String,
    /// `None`: the screen's background.
    bg: Option<String>,
}

impl Screen {
    /// Returns the screen as an SVG; `title` is its description for screen readers.
    pub fn to_svg(&self, title: &str) -> String {
        let width = 2.0 * MARGIN + CELL.0 * self.width as f32;
        let height = 2.0 * MARGIN + CELL.1 * self.height as f32;
        let bg = hex(self.default.bg.unwrap_or(0x0014_161b));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             role=\"img\" font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\">\n\
             <title>{}</title>\n\
             <style>text {{ white-space: pre }}</style>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{bg}\"/>\n\
             <g transform=\"translate({MARGIN} {MARGIN})\">\n",
            escape(title)
        );
        for row in 0..self.height {
            for run in self.runs_of(row) {
                self.draw(&mut out, row, &run);
            }
        }
        self.draw_cursor(&mut out);
        out.push_str("</g>\n</svg>\n");
        out
    }

    fn runs_of(&self, row: usize) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (column, (text, style)) in self.cells(row).enumerate() {
            match runs.last_mut() {
                Some(run) if run.style == style => {
                    run.text.push_str(text);
                    run.end = column + 1;
                }
                _ => runs.push(Run {
                    start: column,
                    end: column + 1,
                    text: text.to_owned(),
                    style,
                }),
            }
        }
        runs
    }

    fn draw(&self, out: &mut String, row: usize, run: &Run) {
        let colours = self.colours(&run.style);
        if let Some(bg) = &colours.bg {
            rect(out, run.start, row, run.end - run.start, bg);
        }
        let mut column = run.start;
        for piece in pieces(&run.text, run.end - run.start) {
            let cells = piece.cells;
            if let Some(shape) = shape(piece.text, column, row) {
                let _ = writeln!(out, "{}", shape.replace("COLOUR", &colours.fg));
            } else if !piece.text.trim().is_empty() {
                let (x, y) = (CELL.0 * column as f32, CELL.1 * row as f32 + BASELINE);
                let _ = writeln!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{:.1}\" \
                     lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{}>{}</text>",
                    CELL.0 * cells as f32,
                    colours.fg,
                    attributes(&run.style),
                    escape(piece.text),
                );
            }
            column += cells;
        }
    }

    fn draw_cursor(&self, out: &mut String) {
        let (row, column) = self.cursor;
        let (x, y) = (CELL.0 * column as f32, CELL.1 * row as f32);
        let fg = hex(self.default.fg.unwrap_or(0x00e0_e2ea));
        let is_bar = self.mode.contains("insert");
        let (width, opacity) = if is_bar { (1.6, 1.0) } else { (CELL.0, 0.5) };
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{}\" fill=\"{fg}\" \
             opacity=\"{opacity}\"/>",
            CELL.1
        );
    }

    fn colours(&self, style: &Style) -> Colours {
        let fg = style.fg.or(self.default.fg).unwrap_or(0x00e0_e2ea);
        let default_bg = self.default.bg.unwrap_or(0x0014_161b);
        let bg = style.bg.unwrap_or(default_bg);
        let (fg, bg) = if style.reverse { (bg, fg) } else { (fg, bg) };
        Colours {
            fg: hex(fg),
            bg: (bg != default_bg).then(|| hex(bg)),
        }
    }
}

/// A part of a run, `cells` wide.
struct Piece<'a> {
    text: &'a str,
    cells: usize,
}

/// Splits a run into the parts that are drawn separately: ASCII text without trailing blanks,
/// blanks, and each other character by itself, because fonts disagree about its width.
fn pieces(text: &str, cells: usize) -> Vec<Piece<'_>> {
    // Each wide character fills one cell more than it counts characters.
    let mut wide_left = cells.saturating_sub(text.chars().count());
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == ' ' {
            rest.len() - rest.trim_start_matches(' ').len()
        } else if first.is_ascii() {
            let end = rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len());
            let end = rest[..end].find("  ").unwrap_or(end);
            rest[..end].trim_end_matches(' ').len()
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        let is_wide = wide_left > 0 && is_wide(first);
        wide_left -= usize::from(is_wide);
        pieces.push(Piece {
            text: piece,
            cells: piece.chars().count() + usize::from(is_wide),
        });
        rest = after;
    }
    pieces
}

/// Returns whether a character fills two cells: CJK and emoji, approximately.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3
        | 0xf900..=0xfaff | 0xfe30..=0xfe6f | 0xff00..=0xff60 | 0x1f300..=0x1faff)
}

/// Returns a box-drawing or block character as a shape in `COLOUR`.
fn shape(text: &str, column: usize, row: usize) -> Option<String> {
    let (x, y) = (CELL.0 * column as f32, CELL.1 * row as f32);
    let (width, height) = CELL;
    let (middle, centre) = (x + width / 2.0, y + height / 2.0);
    let (right, bottom) = (x + width, y + height);
    let mut chars = text.chars();
    let c = chars.next().filter(|_| chars.next().is_none())?;
    let path = match c {
        '─' | '━' => format!("M{x:.1} {centre:.1}H{right:.1}"),
        '│' | '┃' => format!("M{middle:.1} {y:.1}V{bottom:.1}"),
        '┌' => format!("M{middle:.1} {bottom:.1}V{centre:.1}H{right:.1}"),
        '┐' => format!("M{middle:.1} {bottom:.1}V{centre:.1}H{x:.1}"),
        '└' => format!("M{middle:.1} {y:.1}V{centre:.1}H{right:.1}"),
        '┘' => format!("M{middle:.1} {y:.1}V{centre:.1}H{x:.1}"),
        '╭' => format!("M{middle:.1} {bottom:.1}Q{middle:.1} {centre:.1} {right:.1} {centre:.1}"),
        '╮' => format!("M{middle:.1} {bottom:.1}Q{middle:.1} {centre:.1} {x:.1} {centre:.1}"),
        '╰' => format!("M{middle:.1} {y:.1}Q{middle:.1} {centre:.1} {right:.1} {centre:.1}"),
        '╯' => format!("M{middle:.1} {y:.1}Q{middle:.1} {centre:.1} {x:.1} {centre:.1}"),
        '├' => format!("M{middle:.1} {y:.1}V{bottom:.1}M{middle:.1} {centre:.1}H{right:.1}"),
        '┤' => format!("M{middle:.1} {y:.1}V{bottom:.1}M{middle:.1} {centre:.1}H{x:.1}"),
        // Blocks from the left: full, then seven eighths, down to one.
        '█'..='▏' => {
            let eighths = 8 - (u32::from(c) - u32::from('█'));
            let part = width * eighths as f32 / 8.0;
            return Some(format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{part:.1}\" height=\"{height}\" \
                 fill=\"COLOUR\"/>"
            ));
        }
        _ => return None,
    };
    let stroke = if matches!(c, '━' | '┃') { 2.4 } else { 1.2 };
    Some(format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"COLOUR\" stroke-width=\"{stroke}\"/>"
    ))
}

fn rect(out: &mut String, column: usize, row: usize, cells: usize, fill: &str) {
    // Overlaps slightly, so that no seam shows between rows.
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
        CELL.0 * column as f32,
        CELL.1 * row as f32,
        CELL.0 * cells as f32 + 0.2,
        CELL.1 + 0.2,
    );
}

fn attributes(style: &Style) -> String {
    let mut out = String::new();
    if style.bold {
        out.push_str(" font-weight=\"bold\"");
    }
    if style.italic {
        out.push_str(" font-style=\"italic\"");
    }
    let mut lines = Vec::new();
    if style.underline || style.undercurl {
        lines.push("underline");
    }
    if style.strikethrough {
        lines.push("line-through");
    }
    if !lines.is_empty() {
        let _ = write!(out, " text-decoration=\"{}\"", lines.join(" "));
    }
    out
}

fn hex(rgb: u32) -> String {
    format!("#{rgb:06x}")
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
