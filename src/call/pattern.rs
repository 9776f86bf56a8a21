//! How large the automaton of a regular expression would get, before anything is compiled.
//!
//! Matching is linear in the text, but also grows with the automaton, and `((a{99}){99}){99}` is short to
//! write. The estimate reads the pattern once: an atom counts one, a class of many characters more, a bounded
//! repetition multiplies.

/// Automaton size that the patterns of one schema may have together.
pub const MAX_TOTAL: u64 = 20_000;

/// Estimated number of states of a pattern.
pub fn estimate(pattern: &str) -> u64 {
    // (sum of the group so far, last atom of it)
    let mut groups: Vec<(u64, u64)> = vec![(0, 0)];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let atom = match c {
            '(' => {
                groups.push((0, 0));
                continue;
            }
            ')' => match groups.pop() {
                Some((sum, last)) if !groups.is_empty() => sum.saturating_add(last),
                _ => return u64::MAX,
            },
            '{' => {
                let bounds: String = std::iter::from_fn(|| chars.next_if(|&c| c != '}')).collect();
                chars.next();
                // `{m,n}` compiles n copies, `{m,}` m and a loop.
                let times = bounds.split(',').filter_map(|n| n.trim().parse::<u64>().ok()).max().unwrap_or(1);
                if let Some((_, last)) = groups.last_mut() {
                    *last = last.saturating_mul(times.max(1));
                }
                continue;
            }
            '\\' => match chars.next() {
                Some('p' | 'P') => 100,
                Some('D' | 'S' | 'W' | 's') => 10,
                _ => 1,
            },
            '[' => {
                let negated = chars.next_if_eq(&'^').is_some();
                let mut size = if negated { 10 } else { 1 };
                let mut escaped = false;
                for c in chars.by_ref() {
                    match c {
                        'p' | 'P' if escaped => size += 100,
                        ']' if !escaped => break,
                        _ if c.len_utf8() > 1 => size += 4,
                        _ => {}
                    }
                    escaped = c == '\\' && !escaped;
                }
                size
            }
            '.' => 10,
            '*' | '+' | '?' => continue,
            _ => c.len_utf8() as u64,
        };
        if let Some((sum, last)) = groups.last_mut() {
            *sum = sum.saturating_add(*last);
            *last = atom;
        }
    }
    match groups.as_slice() {
        [(sum, last)] => sum.saturating_add(*last),
        // Unbalanced: the engine will refuse it anyway.
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (pattern, expected) in [
            ("abc", 3),
            ("^[a-z]{3}$", 5),
            ("(ab){10}c", 21),
            (r"\p{L}{5}", 500),
            ("((a{99}){99}){99}", 970_299),
            ("a{2}{3}", 6),
            ("[\\]()]{2}", 2),
            ("(", u64::MAX),
            (")", u64::MAX),
            ("a{99999999999}{99999999999}", u64::MAX),
        ] {
            // `{L}` of `\p{L}` reads as a repetition of no bounds.
            assert_eq!(estimate(pattern), expected, "{pattern}");
        }
    }
}
