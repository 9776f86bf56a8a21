//! Token estimates for budgets: no tokenizer, but an estimate that never errs low by a factor.
//!
//! A Unicode scalar value counts a quarter of a token, an East Asian wide one counts one token; the sum is
//! rounded up. Sums are kept in quarters, so that parts can be added before the one rounding at the end.

use unicode_width::UnicodeWidthChar;

/// A sum of quarter tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quarters(pub u64);

impl Quarters {
    /// The estimate of a text.
    pub fn of(text: &str) -> Self {
        // Every scalar below U+1100 is at most one cell wide, so plain text needs no table.
        if text.is_ascii() {
            return Self(text.len() as u64);
        }
        Self(text.chars().map(|c| if c >= '\u{1100}' && c.width() == Some(2) { 4 } else { 1 }).sum())
    }

    /// Whole tokens, rounded up.
    pub fn tokens(self) -> u64 {
        self.0.div_ceil(4)
    }
}

impl std::ops::Add for Quarters {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::AddAssign for Quarters {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl std::iter::Sum for Quarters {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        Self(parts.map(|q| q.0).sum())
    }
}

/// Tokens of a text: `ceil(characters / 4)` for plain text.
pub fn estimate(text: &str) -> u64 {
    Quarters::of(text).tokens()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_a_quarter_a_character_rounded_up() {
        assert_eq!([estimate(""), estimate("a"), estimate("abcd"), estimate("abcde")], [0, 1, 1, 2]);
    }

    #[test]
    fn east_asian_wide_characters_count_one_each() {
        assert_eq!(estimate("検索"), 2);
        assert_eq!(estimate("é"), 1);
        assert_eq!(estimate("検a"), 2);
    }
}
