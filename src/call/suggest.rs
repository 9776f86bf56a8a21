//! The nearest names to one that does not exist (CALL-5).
//!
//! Same bare name first, then by edit distance; ties by bytes, so the order of the candidates never shows.
//! Nothing is offered that is too far to be a slip: at most a third of the longer name may differ.

/// Most names offered.
pub const MAX_SUGGESTIONS: usize = 5;
/// Longer names are not compared.
pub const MAX_NAME: usize = 128;

/// At most [`MAX_SUGGESTIONS`] of the candidates `(full name, bare name)`, nearest first.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<&'a str> {
    let Some(wanted) = Letters::of(wanted.trim()) else { return Vec::new() };
    let bare = Letters::of(bare_name(&wanted.text)).unwrap_or_else(|| wanted.clone());
    let mut best: Vec<(usize, &'a str)> = Vec::with_capacity(MAX_SUGGESTIONS + 1);
    let mut rows = Rows::default();
    for (full, candidate_bare) in candidates {
        if full.len() > MAX_NAME * 4 || full.chars().count() > MAX_NAME {
            continue;
        }
        let cap = if best.len() == MAX_SUGGESTIONS { best[MAX_SUGGESTIONS - 1].0 } else { usize::MAX };
        let distance = if candidate_bare.eq_ignore_ascii_case(&bare.text) {
            Some(0)
        } else {
            let to_bare = rows.distance(&bare, candidate_bare, cap);
            let to_full = rows.distance(&wanted, full, to_bare.unwrap_or(cap));
            // 0 is kept for the same bare name.
            to_full.or(to_bare).map(|d| d + 1)
        };
        if let Some(distance) = distance {
            let entry = (distance, full);
            if let Err(at) = best.binary_search(&entry) {
                best.insert(at, entry);
                best.truncate(MAX_SUGGESTIONS);
            }
        }
    }
    best.into_iter().map(|(_, name)| name).collect()
}

/// The tool part of `mcp__server__tool`; any other name is bare already.
fn bare_name(name: &str) -> &str {
    name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(name, |(_, tool)| tool)
}

/// A name as it is compared: ASCII case folded, with the set of its letters for a quick lower bound.
#[derive(Clone)]
struct Letters {
    text: String,
    chars: Vec<char>,
    set: u64,
}

impl Letters {
    fn of(name: &str) -> Option<Self> {
        let text = name.to_ascii_lowercase();
        let chars: Vec<char> = text.chars().take(MAX_NAME + 1).collect();
        (!chars.is_empty() && chars.len() <= MAX_NAME).then(|| Self { set: letter_set(&chars), text, chars })
    }
}

fn letter_set(chars: &[char]) -> u64 {
    chars.iter().fold(0, |set, &c| set | 1 << (c as u32 % 64))
}

/// The rows of the distance matrix, kept between candidates.
#[derive(Default)]
struct Rows {
    other: Vec<char>,
    before: Vec<usize>,
    above: Vec<usize>,
    row: Vec<usize>,
}

impl Rows {
    /// Optimal string alignment distance (Damerau 1964: insert, delete, replace, swap neighbours), or `None`
    /// over `cap` or over a third of the longer name.
    fn distance(&mut self, wanted: &Letters, name: &str, cap: usize) -> Option<usize> {
        self.other.clear();
        self.other.extend(name.chars().map(|c| c.to_ascii_lowercase()));
        let (a, b) = (&wanted.chars, &self.other);
        let cap = cap.min(a.len().max(b.len()) / 3);
        // Each edit changes the length by at most one, and removes at most one letter from the set.
        let missing = wanted.set & !letter_set(b);
        if a.len().abs_diff(b.len()) > cap || missing.count_ones() as usize > cap {
            return None;
        }
        let over = cap + 1;
        self.above.clear();
        self.above.extend((0..=b.len()).map(|j| j.min(over)));
        self.before.clear();
        self.before.resize(b.len() + 1, over);
        self.row.clear();
        self.row.resize(b.len() + 1, over);
        for i in 1..=a.len() {
            // Only the band within `cap` of the diagonal can stay within the cap.
            let (from, to) = (i.saturating_sub(cap).max(1), b.len().min(i + cap));
            self.row[from - 1] = if from == 1 { i.min(over) } else { over };
            let mut least = self.row[from - 1];
            for j in from..=to {
                let replaced = self.above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut cell = replaced.min(self.above[j] + 1).min(self.row[j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    cell = cell.min(self.before[j - 2] + 1);
                }
                self.row[j] = cell.min(over);
                least = least.min(self.row[j]);
            }
            if to < b.len() {
                self.row[to + 1] = over;
            }
            if least > cap {
                return None;
            }
            std::mem::swap(&mut self.before, &mut self.above);
            std::mem::swap(&mut self.above, &mut self.row);
        }
        Some(self.above[b.len()]).filter(|&d| d <= cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: [(&str, &str); 8] = [
        ("mcp__github__create_issue", "create_issue"),
        ("mcp__linear__create_issue", "create_issue"),
        ("mcp__github__list_issues", "list_issues"),
        ("mcp__github__get_issue", "get_issue"),
        ("mcp__slack__post_message", "post_message"),
        ("mcp__notion__search", "search"),
        ("weather", "weather"),
        ("météo_locale", "météo_locale"),
    ];

    #[test]
    fn nearest_names() {
        for (rule, wanted, expected) in [
            (
                "CALL-5: same bare name first, ties by bytes",
                "create_issue",
                &["mcp__github__create_issue", "mcp__linear__create_issue"][..],
            ),
            (
                "CALL-5: a wrong server",
                "mcp__gitlab__create_issue",
                &["mcp__github__create_issue", "mcp__linear__create_issue"],
            ),
            ("CALL-5: two letters swapped", "mcp__slack__post_mesasge", &["mcp__slack__post_message"]),
            ("CALL-5: a letter missing", "get_isue", &["mcp__github__get_issue"]),
            ("CALL-5: case is folded", "Weather", &["weather"]),
            ("CALL-5: letters are no bytes", "meteo_locale", &["météo_locale"]),
            ("CALL-5: nonsense yields none", "zzzzqqqq", &[]),
            ("CALL-5: nothing yields none", " ", &[]),
        ] {
            let got = nearest(wanted, SCOPE);
            assert_eq!(got.get(..expected.len()), Some(expected), "{rule}: {got:?}");
            assert!(!expected.is_empty() || got.is_empty(), "{rule}: {got:?}");
        }
    }

    #[test]
    fn at_most_five_and_in_an_order_of_their_own() {
        let names: Vec<String> = (0..9).map(|n| format!("tool_number_{n}")).collect();
        let forward = nearest("tool_number_x", names.iter().map(|n| (n.as_str(), n.as_str())));
        let backward = nearest("tool_number_x", names.iter().rev().map(|n| (n.as_str(), n.as_str())));
        assert_eq!(forward, ["tool_number_0", "tool_number_1", "tool_number_2", "tool_number_3", "tool_number_4"]);
        assert_eq!(forward, backward);
    }

    #[test]
    fn names_over_128_characters_are_not_compared() {
        let (fits, long) = ("a".repeat(128), "a".repeat(129));
        assert_eq!(nearest(&fits, [(fits.as_str(), fits.as_str())]), [fits.as_str()]);
        assert!(nearest(&long, [(fits.as_str(), fits.as_str())]).is_empty());
        assert!(nearest(&fits, [(long.as_str(), long.as_str())]).is_empty());
    }

    /// The full matrix, without cap or band.
    fn reference(a: &[char], b: &[char]) -> usize {
        let mut d = vec![vec![0usize; b.len() + 1]; a.len() + 1];
        for (i, row) in d.iter_mut().enumerate() {
            row[0] = i;
        }
        d[0] = (0..=b.len()).collect();
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                let replaced = d[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                d[i][j] = replaced.min(d[i - 1][j] + 1).min(d[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    d[i][j] = d[i][j].min(d[i - 2][j - 2] + 1);
                }
            }
        }
        d[a.len()][b.len()]
    }

    proptest::proptest! {
        #[test]
        fn the_band_computes_the_same_distance(a in "[a-c]{1,12}", b in "[a-c]{1,12}", cap in 0usize..8) {
            let full = reference(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
            let cap_used = cap.min(a.len().max(b.len()) / 3);
            let got = Rows::default().distance(&Letters::of(&a).unwrap(), &b, cap);
            proptest::prop_assert_eq!(got, (full <= cap_used).then_some(full));
        }
    }
}
