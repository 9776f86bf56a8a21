//! Text for a person: lines, paragraphs and tables, made for one terminal.
//!
//! Everything that is put on a page is made visible first (see [`printable`]), so no command can forget it.

use unicode_width::UnicodeWidthStr;

use super::printable;
use super::table::{self, Column};
use super::terminal::Terminal;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

impl Style {
    /// Parameter of the `SGR` sequence (ECMA-48, 8.3.117).
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
        }
    }
}

/// A text that grows.
pub struct Page {
    terminal: Terminal,
    text: String,
}

impl Page {
    /// An empty one.
    pub fn new(terminal: Terminal) -> Self {
        Self { terminal, text: String::new() }
    }

    /// All that was put on it.
    pub fn into_text(self) -> String {
        self.text
    }

    /// A line as it is, however long.
    pub fn line(&mut self, spans: &[(Style, &str)]) {
        for (style, text) in spans {
            self.push(*style, &printable::visible(text));
        }
        self.text.push('\n');
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A heading above what follows.
    pub fn heading(&mut self, text: &str) {
        self.line(&[(Style::Bold, text)]);
    }

    /// A paragraph behind `first`, all further lines indented to the same column, wrapped where the terminal has a
    /// width. White space is folded.
    pub fn paragraph(&mut self, first: &str, style: Style, text: &str) {
        let indent = first.width();
        let lines = match self.terminal.width {
            Some(width) => wrap(&printable::folded(text), width.saturating_sub(indent).max(1)),
            None => vec![printable::folded(text)],
        };
        for (at, line) in lines.iter().enumerate() {
            if at == 0 {
                self.text.push_str(&printable::visible(first));
            } else {
                self.text.extend(std::iter::repeat_n(' ', indent));
            }
            self.push(style, line);
            self.text.push('\n');
        }
    }

    /// A table behind `indent` spaces. The titles are left out where all are empty.
    pub fn table<const N: usize>(&mut self, indent: usize, columns: &[Column; N], rows: &[[String; N]]) {
        let rows: Vec<[String; N]> =
            rows.iter().map(|row| std::array::from_fn(|at| printable::folded(&row[at]))).collect();
        let width = self.terminal.width.map(|width| width.saturating_sub(indent));
        let widths = table::widths(columns, &rows, width);
        let titles = columns.each_ref().map(|column| column.title.to_owned());
        if titles.iter().any(|title| !title.is_empty()) {
            self.row(indent, columns, &widths, &titles, Some(Style::Dim));
        }
        for row in &rows {
            self.row(indent, columns, &widths, row, None);
        }
    }

    fn row<const N: usize>(
        &mut self,
        indent: usize,
        columns: &[Column; N],
        widths: &[usize; N],
        cells: &[String; N],
        style: Option<Style>,
    ) {
        let mut line = String::new();
        let mut owed = indent;
        for at in 0..N {
            let cell = table::cut(&cells[at], widths[at]);
            let free = widths[at].saturating_sub(cell.width());
            let (before, after) = if columns[at].right { (free, 0) } else { (0, free) };
            if !cell.is_empty() {
                // Spaces are owed until something stands behind them: no line ends in white space.
                line.extend(std::iter::repeat_n(' ', owed + before));
                self.text.push_str(&line);
                line.clear();
                owed = 0;
                self.push(style.unwrap_or(columns[at].style), &cell);
            } else {
                owed += before;
            }
            owed += after + table::GAP;
        }
        self.text.push('\n');
    }

    fn push(&mut self, style: Style, text: &str) {
        if !self.terminal.colour || style == Style::Plain || text.is_empty() {
            return self.text.push_str(text);
        }
        for piece in ["\x1b[", style.code(), "m", text, "\x1b[0m"] {
            self.text.push_str(piece);
        }
    }
}

/// Lines of at most `width` columns, broken at spaces, or anywhere inside a longer word.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.width();
        if used > 0 && used + 1 + length <= width {
            used += 1 + length;
            if let Some(line) = lines.last_mut() {
                line.push(' ');
                line.push_str(word);
            }
            continue;
        }
        if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            let wide = c.to_string().width();
            if used + wide > width && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            used += wide;
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    lines
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 tool`, `2 tools`.
pub fn count(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Terminal = Terminal { width: Some(12), colour: false };

    #[test]
    fn paragraphs_wrap_in_a_terminal_only() {
        for (label, terminal, text, expected) in [
            ("at spaces", NARROW, "one two three", "- one two\n  three\n"),
            ("inside a word that is too long", NARROW, "abcdefghijklm", "- abcdefghij\n  klm\n"),
            ("by columns, not by characters", NARROW, "検索検索検索", "- 検索検索検\n  索\n"),
            ("never in a pipe", Terminal::default(), "one two  three", "- one two three\n"),
            ("an empty one is its mark", NARROW, "", "- \n"),
        ] {
            let mut page = Page::new(terminal);
            page.paragraph("- ", Style::Plain, text);
            assert_eq!(page.into_text(), expected, "{label}");
        }
    }

    #[test]
    fn colour_comes_from_styles_alone() {
        let mut page = Page::new(Terminal { width: None, colour: true });
        page.line(&[(Style::Bold, "a\x1b[31m"), (Style::Plain, " b")]);
        assert_eq!(page.into_text(), "\x1b[1ma\\u{1b}[31m\x1b[0m b\n");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count(1, "tool"), count(2, "tool")], ["1 tool", "2 tools"]);
    }
}
