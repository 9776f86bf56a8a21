//! Which calls of a batch may run together (PLAN-1).
//!
//! The order of the batch is kept, within a stage and across stages. What a call touches is the caller's to
//! know: it looks through a `tool_call` at the tool below.

/// How a call gets on with its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only reads: `tool_search`, `tool_describe`.
    ReadOnly,
    /// A tool of a server that declared `supports_parallel_tool_calls`.
    Parallel,
    /// Anything else: nothing runs beside it.
    Alone,
}

/// The stages of a batch, to be run one after the other; the calls of one stage may run at once.
///
/// A call that runs alone also parts the calls before it from those after it, since they may depend on it.
pub fn stages<Id>(calls: impl IntoIterator<Item = (Id, Access)>) -> Vec<Vec<Id>> {
    let mut stages: Vec<Vec<Id>> = Vec::new();
    let mut open = false;
    for (id, access) in calls {
        let shares = access != Access::Alone;
        match stages.last_mut() {
            Some(stage) if open && shares => stage.push(id),
            _ => stages.push(vec![id]),
        }
        open = shares;
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged(batch: &str) -> String {
        let access = |c| match c {
            'r' => Access::ReadOnly,
            'p' => Access::Parallel,
            _ => Access::Alone,
        };
        let calls = batch.chars().enumerate().map(|(at, c)| (format!("{c}{at}"), access(c)));
        stages(calls).iter().map(|stage| stage.join(" ")).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn stages_of_a_batch() {
        for (rule, batch, expected) in [
            ("PLAN-1: nothing to run", "", ""),
            ("PLAN-1: look-ups run together", "rr", "r0 r1"),
            ("PLAN-1: parallel tools run beside look-ups", "rpp", "r0 p1 p2"),
            ("PLAN-1: any other tool runs alone", "aa", "a0 | a1"),
            ("PLAN-1: a lone call parts its neighbours", "rapr", "r0 | a1 | p2 r3"),
            ("PLAN-1: the batch's order is kept", "parpa", "p0 | a1 | r2 p3 | a4"),
        ] {
            assert_eq!(staged(batch), expected, "{rule}");
        }
    }
}
