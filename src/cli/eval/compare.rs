//! What is worse than it was: every measure by its name, with the direction in which it gets better.

/// One measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// As `--json` spells it.
    pub name: String,
    /// What was measured.
    pub value: f64,
    better: Better,
}

/// Where a measure is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

impl Score {
    /// One that is better the larger it is.
    pub fn more(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, better: Better::More }
    }

    /// One that is better the smaller it is.
    pub fn less(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, better: Better::Less }
    }

    fn is_worse_than(&self, before: f64) -> bool {
        match self.better {
            Better::More => self.value < before,
            Better::Less => self.value > before,
        }
    }
}

/// What is worse than before: its name, then, now. What was not measured both times is no worse.
pub fn worse(now: &[Score], before: &[Score]) -> Vec<(String, f64, f64)> {
    let pairs = now.iter().filter_map(|now| Some((now, before.iter().find(|before| before.name == now.name)?)));
    let worse = pairs.filter(|(now, before)| now.is_worse_than(before.value));
    worse.map(|(now, before)| (now.name.clone(), before.value, now.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_has_its_direction() {
        let measured = |found: f64, cost: f64| [Score::more("found", found), Score::less("cost", cost)];
        for (label, before, now, expected) in [
            ("the same", (0.5, 9.0), (0.5, 9.0), &[][..]),
            ("better", (0.5, 9.0), (0.6, 8.0), &[]),
            ("less is found", (0.5, 9.0), (0.4, 9.0), &[("found", 0.5, 0.4)]),
            ("it costs more", (0.5, 9.0), (0.6, 10.0), &[("cost", 9.0, 10.0)]),
        ] {
            let found = worse(&measured(now.0, now.1), &measured(before.0, before.1));
            let expected: Vec<_> = expected.iter().map(|(name, then, now)| ((*name).to_owned(), *then, *now)).collect();
            assert_eq!(found, expected, "{label}");
        }
        assert_eq!(worse(&measured(0.0, 0.0), &[Score::more("other", 1.0)]), [], "not measured then");
    }
}
