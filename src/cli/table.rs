//! Widths of a table's columns: what fits the terminal, and what is cut.

use unicode_width::UnicodeWidthStr;

use super::page::Style;

/// Spaces between two columns.
pub const GAP: usize = 2;
/// Fewer columns than this say nothing; then columns that are kept whole give way too.
const LEAST: usize = 12;

/// A column.
pub struct Column {
    /// Title, in capitals.
    pub title: &'static str,
    /// Whether its cells end at the same column, as numbers do.
    pub right: bool,
    /// Whether it is cut last: names, which people copy.
    pub whole: bool,
    /// How its cells look.
    pub style: Style,
}

impl Column {
    /// Text that may be cut.
    pub const fn text(title: &'static str) -> Self {
        Self { title, right: false, whole: false, style: Style::Plain }
    }

    /// Names.
    pub const fn name(title: &'static str) -> Self {
        Self { title, right: false, whole: true, style: Style::Bold }
    }

    /// Short words that are not cut.
    pub const fn word(title: &'static str) -> Self {
        Self { title, right: false, whole: true, style: Style::Plain }
    }

    /// Numbers.
    pub const fn number(title: &'static str) -> Self {
        Self { title, right: true, whole: true, style: Style::Plain }
    }
}

/// Width of each column: its widest cell, or less where the table would not fit into `width`.
pub fn widths<const N: usize>(columns: &[Column; N], rows: &[[String; N]], width: Option<usize>) -> [usize; N] {
    let mut widths: [usize; N] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].width());
        cells.chain([columns[at].title.width()]).max().unwrap_or(0)
    });
    let Some(width) = width else { return widths };
    let room = width.saturating_sub(GAP * N.saturating_sub(1));
    let whole: usize = (0..N).filter(|at| columns[*at].whole).map(|at| widths[at]).sum();
    let rest: usize = (0..N).filter(|at| !columns[*at].whole).map(|at| widths[at].min(LEAST)).sum();
    let keeps_whole = whole + rest <= room;
    let mut cuttable: Vec<usize> = (0..N).filter(|at| !keeps_whole || !columns[*at].whole).collect();
    // A column wider than the room is no wider than the room for this.
    cuttable.iter().for_each(|at| widths[*at] = widths[*at].min(room));
    // The widest gives first, so that what is short is not cut at all.
    while widths.iter().sum::<usize>() > room {
        cuttable.retain(|at| widths[*at] > 1);
        let Some(widest) = cuttable.iter().copied().max_by_key(|at| widths[*at]) else { break };
        widths[widest] -= 1;
    }
    widths
}

/// A text of at most `width` columns, the last of them `…` where it was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if out.width() + 1 > width {
            out.pop();
            break;
        }
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::super::terminal::Terminal;
    use super::*;

    const COLUMNS: [Column; 3] = [Column::name("NAME"), Column::number("N"), Column::text("TEXT")];

    fn shown(width: Option<usize>, rows: &[[&str; 3]]) -> String {
        let rows: Vec<[String; 3]> = rows.iter().map(|row| row.map(str::to_owned)).collect();
        let mut page = Page::new(Terminal { width, colour: false });
        page.table(1, &COLUMNS, &rows);
        page.into_text()
    }

    #[test]
    fn tables_fit() {
        let rows = [["create_issue", "2", "makes one issue in a project"], ["ls", "10", ""]];
        for (label, width, expected) in [
            (
                "in a pipe nothing is cut",
                None,
                " NAME           N  TEXT\n create_issue   2  makes one issue in a project\n ls            10\n",
            ),
            (
                "a text is cut before a name",
                Some(32),
                " NAME           N  TEXT\n create_issue   2  makes one is…\n ls            10\n",
            ),
            (
                "where names leave no room they are cut too",
                Some(20),
                " NAME      N  TEXT\n create…   2  makes…\n ls       10\n",
            ),
        ] {
            assert_eq!(shown(width, &rows), expected, "{label}");
            let widest = expected.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
            assert!(width.is_none_or(|width| widest <= width), "{label}: {widest}");
        }
    }

    #[test]
    fn wide_characters_count_two_columns() {
        let rows = [["検索", "1", "a"], ["abcd", "2", "b"]];
        assert_eq!(shown(None, &rows), " NAME  N  TEXT\n 検索  1  a\n abcd  2  b\n");
        assert_eq!(cut("検索検索", 5), "検索…");
        assert_eq!(cut("検索検索", 4), "検…");
    }
}
