//! The catalog inside the bridge: what a model sees of deferred tools, one line a tool, grouped by server.
//!
//! A [`Line`] is made once a tool, a [`Block`] once a server; both depend on nothing but their content, so a
//! caller keeps them by content. [`fit`] chooses, for a budget, what is shown of each server. Blocks follow each
//! other without blank lines, since every character is paid for on every turn: a tool's line begins with `- `, a
//! heading never does.
//!
//! Names, labels and descriptions come from strangers. Whatever they hold, one tool is one line.

mod fit;
pub(super) mod sentence;
pub(super) mod visible;

use std::fmt::Write as _;
use std::sync::Arc;

pub use fit::{Form, Listing, fit};
pub use sentence::{SUMMARY_LIMIT, summary};
pub use visible::hides;

use super::tokens::Quarters;

/// One tool: `- <name>: <summary>`, or `- <name>` where there is nothing to sum up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    text: Box<str>,
    /// Bytes of `text` that are shown where the description is left out: the dash and the name.
    bare: u32,
}

impl Line {
    /// The line of a tool; a tool without description gives an empty one.
    pub fn new(name: &str, description: &str) -> Self {
        let mut text = String::from("- ");
        visible::push(&mut text, name);
        let bare = text.len() as u32;
        let summary = summary(description);
        if !summary.is_empty() {
            text.push_str(": ");
            text.push_str(&summary);
        }
        Self { text: text.into(), bare }
    }

    /// The whole line, without line break.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn bare(&self) -> &str {
        &self.text[..self.bare as usize]
    }
}

/// How much of a server a listing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detail {
    /// A heading, then name and summary of each tool.
    Full,
    /// A heading, then the name of each tool.
    Names,
    /// One line: label and number of tools.
    Collapsed,
}

/// One server: its tools' lines in order of name, and what each [`Detail`] of it would cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    label: Box<str>,
    lines: Vec<Arc<Line>>,
    sizes: [Quarters; 3],
}

impl Block {
    /// The block of a server from names and descriptions, in any order.
    pub fn new<'a>(label: &str, tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::of_lines(label, tools.into_iter().map(|(name, description)| Arc::new(Line::new(name, description))))
    }

    /// The same from lines that a caller kept. Linear where they come in order of name.
    pub fn of_lines(label: &str, lines: impl IntoIterator<Item = Arc<Line>>) -> Self {
        let mut shown = String::new();
        visible::push(&mut shown, label);
        // Nor may a label pass for a tool's line.
        let label = match shown.trim_start_matches(['-', ' ']) {
            "" => "?",
            label => label,
        };
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_by(|a, b| a.bare().cmp(b.bare()).then_with(|| a.text.cmp(&b.text)));

        let mut block = Self { label: label.into(), lines, sizes: [Quarters::default(); 3] };
        let collapsed = Quarters::of(&block.text(Detail::Collapsed));
        let mut sizes = [collapsed + Quarters(1), collapsed + Quarters(1), collapsed];
        for line in &block.lines {
            sizes[0] += Quarters::of(&line.text) + Quarters(1);
            sizes[1] += Quarters::of(line.bare()) + Quarters(1);
        }
        block.sizes = sizes;
        block
    }

    /// The label as it is shown.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Number of tools.
    pub fn tools(&self) -> usize {
        self.lines.len()
    }

    /// Estimate of [`Block::text`].
    pub fn size(&self, detail: Detail) -> Quarters {
        self.sizes[detail as usize]
    }

    /// The block as a listing shows it, without line break at its end.
    pub fn text(&self, detail: Detail) -> String {
        let mut text = String::new();
        self.write(detail, &mut text);
        text
    }

    fn write(&self, detail: Detail, out: &mut String) {
        // Writing to a string does not fail.
        let _ = write!(out, "{} ({} tools)", self.label, self.lines.len());
        if detail == Detail::Collapsed {
            return;
        }
        out.push(':');
        for line in &self.lines {
            out.push('\n');
            out.push_str(if detail == Detail::Full { &line.text } else { line.bare() });
        }
    }
}

#[cfg(test)]
mod tests;
