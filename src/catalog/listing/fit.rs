//! What a listing shows of each server when not everything fits (LISTING-4 and -5).
//!
//! Size decides, then label, never the order of arrival; a size is an exact sum of what the blocks cost, so the
//! text is written once, after the decision. The work is sorting the servers; their tools are not looked at.

use std::cmp::Reverse;

use serde::Serialize;

use super::super::tokens::Quarters;
use super::{Block, Detail};

/// What a listing as a whole shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ListingForm")]
pub enum Form {
    /// Every tool with its summary.
    Full,
    /// Every tool named, some without the summary they have.
    Names,
    /// Some servers per tool, the others one line each.
    Mixed,
    /// No tool named: one line a server, or labels alone.
    Groups,
    /// Nothing.
    #[default]
    None,
}

/// A listing that fits its budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// What it shows.
    pub form: Form,
    /// From the first heading to the end, without line break there.
    pub text: String,
    /// Exact estimate of `text`.
    pub size: Quarters,
    /// Tools that are named in it.
    pub named_tools: usize,
}

/// The listing of these servers in at most `budget` tokens. One block a label; blocks without tools are left out.
pub fn fit<'a>(blocks: impl IntoIterator<Item = &'a Block>, budget: u64) -> Listing {
    let mut servers: Vec<&Block> = blocks.into_iter().filter(|block| block.tools() > 0).collect();
    // The lines decide only where a caller gives one label twice.
    let texts = |block: &'a Block| block.lines.iter().map(|line| line.text());
    servers.sort_by(|a, b| a.label.cmp(&b.label).then_with(|| texts(a).cmp(texts(b))));

    let limit = budget.saturating_mul(4);
    Plan::within(&servers, limit)
        .map(|plan| plan.write())
        .or_else(|| labels(&servers, limit, true))
        // Better a label that does not say that there are more than no label.
        .or_else(|| labels(&servers, limit, false))
        .unwrap_or_default()
}

/// A detail for each server, and the size of the text in quarters.
struct Plan<'a> {
    servers: &'a [&'a Block],
    details: Vec<Detail>,
    size: u64,
}

impl<'a> Plan<'a> {
    fn within(servers: &'a [&'a Block], limit: u64) -> Option<Self> {
        let breaks = servers.len().checked_sub(1)? as u64;
        let size = servers.iter().map(|block| block.size(Detail::Full).0).sum::<u64>() + breaks;
        let mut plan = Self { servers, details: vec![Detail::Full; servers.len()], size };
        if plan.size <= limit {
            return Some(plan);
        }
        let tokens = |detail| move |block: &Block| block.size(detail).tokens();
        let largest_first = |detail| order_by(servers, |block| Reverse(tokens(detail)(block)));
        plan.reduce(&largest_first(Detail::Full), Detail::Names, limit);
        plan.reduce(&largest_first(Detail::Names), Detail::Collapsed, limit);
        if plan.size > limit {
            return None;
        }
        for server in order_by(servers, tokens(Detail::Full)) {
            if plan.details[server] == Detail::Names && plan.size_with(server, Detail::Full) <= limit {
                plan.set(server, Detail::Full);
            }
        }
        Some(plan)
    }

    /// Gives each server in turn this detail, until the listing fits.
    fn reduce(&mut self, order: &[usize], detail: Detail, limit: u64) {
        for &server in order {
            if self.size <= limit {
                return;
            }
            self.set(server, detail);
        }
    }

    fn size_with(&self, server: usize, detail: Detail) -> u64 {
        let block = self.servers[server];
        self.size - block.size(self.details[server]).0 + block.size(detail).0
    }

    fn set(&mut self, server: usize, detail: Detail) {
        self.size = self.size_with(server, detail);
        self.details[server] = detail;
    }

    fn write(&self) -> Listing {
        // Plain text has a byte a quarter; the rest grows.
        let mut text = String::with_capacity(self.size as usize);
        let (mut named_servers, mut named_tools, mut summaries_left_out) = (0, 0, false);
        for (&block, &detail) in self.servers.iter().zip(&self.details) {
            if !text.is_empty() {
                text.push('\n');
            }
            block.write(detail, &mut text);
            if detail != Detail::Collapsed {
                named_servers += 1;
                named_tools += block.tools();
                summaries_left_out |= block.size(detail) != block.size(Detail::Full);
            }
        }
        let form = match named_servers {
            0 => Form::Groups,
            n if n < self.servers.len() => Form::Mixed,
            _ if summaries_left_out => Form::Names,
            _ => Form::Full,
        };
        Listing { form, text, size: Quarters(self.size), named_tools }
    }
}

/// Positions of servers by a key; the sort is stable and servers come in order of label, so labels settle ties.
fn order_by<K: Ord>(servers: &[&Block], key: impl Fn(&Block) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..servers.len()).collect();
    order.sort_by_key(|&server| key(servers[server]));
    order
}

/// Labels alone, one a line, in order of label. Where not all fit, those with most tools are preferred, and `tail`
/// says whether the rest is counted. None if that leaves no label.
fn labels(servers: &[&Block], limit: u64, tail: bool) -> Option<Listing> {
    let label_sizes: Vec<u64> = servers.iter().map(|block| Quarters::of(&block.label).0).collect();
    let rest = |shown: usize| match servers.len() - shown {
        0 => String::new(),
        _ if !tail => String::new(),
        more => format!("\nand {more} more"),
    };
    let mut shown = vec![false; servers.len()];
    let (mut count, mut size) = (0, 0);
    let all = label_sizes.iter().sum::<u64>() + servers.len().saturating_sub(1) as u64;
    for server in order_by(servers, |block| Reverse(block.tools())) {
        let wider = size + label_sizes[server] + u64::from(count > 0);
        if all <= limit || wider + rest(count + 1).len() as u64 <= limit {
            (shown[server], count, size) = (true, count + 1, wider);
        }
    }
    if count == 0 {
        return None;
    }
    let mut text = String::new();
    for block in servers.iter().zip(shown).filter_map(|(block, shown)| shown.then_some(block)) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&block.label);
    }
    text.push_str(&rest(count));
    Some(Listing { form: Form::Groups, size: Quarters::of(&text), text, named_tools: 0 })
}
