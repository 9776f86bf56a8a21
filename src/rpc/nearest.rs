//! The known name that is spelled most like an unknown one.

use strsim::levenshtein;

/// Longer names are no slip of the finger, and the distance is quadratic.
const MAX_BYTES: usize = 64;

/// The candidate with the smallest edit distance, if that is at most a third of the name; the first of equals.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let folded = name.to_lowercase();
    let near = candidates.into_iter().map(|candidate| (levenshtein(&folded, &candidate.to_lowercase()), candidate));
    let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= name.chars().count().div_ceil(3)).then_some(candidate)
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
