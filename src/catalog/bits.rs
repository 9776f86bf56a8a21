//! A fixed set of small numbers: tools of a catalog by position.

use std::ops::Range;

/// A bit for every tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// An empty set with room for `len` numbers.
    pub fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    /// Adds a number below the length.
    pub fn insert(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    /// Adds all numbers of a range below the length.
    pub fn insert_all(&mut self, range: Range<u32>) {
        let (mut at, end) = (range.start, range.end);
        while at < end {
            // To the end of a word at a time.
            let next = end.min((at / 64 + 1) * 64);
            let ones = u64::MAX >> (64 - (next - at));
            self.0[at as usize / 64] |= ones << (at % 64);
            at = next;
        }
    }

    /// The numbers below `len` that it does not hold, ascending.
    pub fn missing(&self, len: u32) -> impl Iterator<Item = u32> {
        let numbers = |(word, bits): (u32, &u64)| {
            let mut absent = !bits;
            std::iter::from_fn(move || {
                let bit = (absent != 0).then(|| absent.trailing_zeros())?;
                absent &= absent - 1;
                Some(word * 64 + bit)
            })
        };
        (0..).zip(&self.0).flat_map(numbers).take_while(move |number| *number < len)
    }

    /// Takes a number out.
    pub fn remove(&mut self, at: u32) {
        self.0[at as usize / 64] &= !(1 << (at % 64));
    }

    /// Whether it holds the number.
    pub fn contains(&self, at: u32) -> bool {
        self.0.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_what_is_missing() {
        for (start, end) in [(0, 0), (0, 64), (0, 200), (3, 5), (60, 70), (63, 64), (64, 128), (100, 200), (199, 200)] {
            let mut bits = Bits::new(200);
            bits.insert_all(start..end);
            let held: Vec<u32> = (0..200).filter(|at| bits.contains(*at)).collect();
            assert_eq!(held, (start..end).collect::<Vec<_>>());
            let missing: Vec<u32> = (0..200).filter(|at| !bits.contains(*at)).collect();
            assert_eq!(bits.missing(200).collect::<Vec<_>>(), missing);
        }
    }
}
