//! The known name that is spelled most like an unknown one.

/// Longer names are no slip of the finger, and the distance is quadratic.
const MAX_BYTES: usize = 64;

/// The candidate with the smallest edit distance, if that is at most a third of the name; the first of equals.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let near = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= name.chars().count().div_ceil(3)).then_some(candidate)
}

/// Levenshtein's distance in characters, case ignored.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, &to) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_case() {
        let known = ["assemble", "bridge/call", "bridge/plan", "status"];
        for (label, name, expected) in [
            ("ERRORS: swapped letters", "statsu", Some("status")),
            ("ERRORS: case", "Assemble", Some("assemble")),
            ("ERRORS: separator", "bridge.call", Some("bridge/call")),
            ("ERRORS: nothing alike", "tools/list", None),
            ("ERRORS: empty", "", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{label}");
        }
        assert_eq!(nearest(&"a".repeat(1 << 20), known), None, "ERRORS: too long to compare");
    }
}
