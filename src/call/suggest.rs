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
    let wanted = wanted.trim();
    let wanted_bare = bare_name(wanted);
    let (Some(whole), Some(bare)) = (Letters::of(told_apart(wanted)), Letters::of(wanted_bare)) else {
        return Vec::new();
    };
    let mut best: Vec<(usize, &'a str)> = Vec::with_capacity(MAX_SUGGESTIONS + 1);
    let mut rows = Rows::default();
    for (full, candidate_bare) in candidates {
        if full.len() > MAX_NAME && full.chars().count() > MAX_NAME {
            continue;
        }
        let cap = if best.len() == MAX_SUGGESTIONS { best[MAX_SUGGESTIONS - 1].0 } else { usize::MAX };
        let distance = if candidate_bare.eq_ignore_ascii_case(wanted_bare) {
            Some(0)
        } else {
            let to_bare = rows.distance(&bare, candidate_bare, cap);
            let to_whole = rows.distance(&whole, told_apart(full), to_bare.unwrap_or(cap));
            // 0 is kept for the same bare name.
            to_whole.or(to_bare).map(|distance| distance + 1)
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

/// A name without the marker that says nothing about it.
fn told_apart(name: &str) -> &str {
    name.strip_prefix("mcp__").unwrap_or(name)
}

/// The tool part of `mcp__server__tool`; any other name is bare already.
fn bare_name(name: &str) -> &str {
    name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(name, |(_, tool)| tool)
}

/// Bins of a letter count: letters that share one make the bound weaker, never wrong.
const BINS: usize = 32;

/// A name as it is compared, ASCII case folded, with the count of its letters.
struct Letters {
    chars: Vec<char>,
    counts: [u8; BINS],
}

impl Letters {
    fn of(name: &str) -> Option<Self> {
        let chars: Vec<char> = name.chars().take(MAX_NAME + 1).map(|c| c.to_ascii_lowercase()).collect();
        if chars.is_empty() || chars.len() > MAX_NAME {
            return None;
        }
        let mut counts = [0; BINS];
        for &c in &chars {
            counts[c as usize % BINS] += 1;
        }
        Some(Self { chars, counts })
    }
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
        let a = &wanted.chars;
        // The length in bytes decides before anything is decoded: a name has at least a quarter as
        // many letters, and at most as many.
        let longest = a.len().max(name.len());
        let cap = cap.min(longest / 3);
        if a.len() > name.len() + cap || name.len() / 4 > a.len() + cap {
            return None;
        }
        // Each edit brings or takes at most one letter, and a swap none. Most names are refused by this count.
        let mut left = wanted.counts;
        let (mut length, mut surplus) = (0, 0);
        for c in name.chars() {
            length += 1;
            match &mut left[c.to_ascii_lowercase() as usize % BINS] {
                0 if surplus == cap => return None,
                0 => surplus += 1,
                count => *count -= 1,
            }
        }
        let cap = cap.min(a.len().max(length) / 3);
        if surplus > cap || a.len() + surplus > length + cap {
            return None;
        }
        self.other.clear();
        self.other.extend(name.chars().map(|c| c.to_ascii_lowercase()));
        let b = &self.other;
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
