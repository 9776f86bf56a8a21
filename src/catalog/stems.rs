//! Stems of words met before, by number; each word is stemmed once a catalog.

use rustc_hash::FxHashMap;

use super::words;

/// See the module.
#[derive(Default)]
pub struct Stems {
    /// Words of up to 16 bytes, which nearly all are: found without following a pointer.
    short: FxHashMap<u128, u32>,
    long: FxHashMap<Box<str>, u32>,
    numbers: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

/// A word of up to 16 bytes as a number; no word holds a zero byte.
fn packed(word: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    Some(u128::from_le_bytes(bytes))
}

impl Stems {
    /// The number of a lower-cased word's stem.
    pub fn number(&mut self, word: &str) -> u32 {
        let packed = packed(word);
        let known = match packed {
            Some(packed) => self.short.get(&packed),
            None => self.long.get(word),
        };
        if let Some(&number) = known {
            return number;
        }
        let stem = words::stem(word);
        let number = match self.numbers.get(&*stem) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(stem.as_ref().into());
                self.numbers.insert(stem.as_ref().into(), number);
                number
            }
        };
        match packed {
            Some(packed) => self.short.insert(packed, number),
            None => self.long.insert(word.into(), number),
        };
        number
    }

    /// The stem with a number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// How many there are; numbers are below.
    pub fn len(&self) -> usize {
        self.texts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_stem_have_one_number() {
        let mut stems = Stems::default();
        let long = "internationalizations";
        let numbers: Vec<u32> =
            ["issue", "issues", "team", long, "issue", "internationalization"].map(|word| stems.number(word)).into();
        assert_eq!(numbers, [0, 0, 1, 2, 0, 2]);
        assert_eq!((stems.text(0), stems.text(1), stems.len()), ("issu", "team", 3));
    }
}
