//! Made-up catalogs for measuring: so many tools of some 840 bytes each, the same on every machine.

use std::fmt::Write as _;

/// Tools a server of the made-up catalogs has.
pub const TOOLS_A_SERVER: usize = 83;

const ACTIONS: &[&str] =
    &["create", "list", "get", "update", "delete", "search", "archive", "restore", "export", "assign", "merge", "sync"];

/// A generator of numbers (xorshift), seeded, so that every run measures the same.
pub struct Numbers(u64);

impl Numbers {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A word; low numbers come far more often, as in real text.
    pub fn word(&mut self) -> String {
        let bound = self.below(2000) + 1;
        spell(self.below(bound))
    }
}

/// A pronounceable word for a number.
fn spell(mut number: usize) -> String {
    let mut word = String::new();
    loop {
        word.push(char::from(b"bcdfghklmnprstvz"[number % 16]));
        word.push(char::from(b"aeiou"[number / 16 % 5]));
        number /= 80;
        if number == 0 {
            break;
        }
    }
    word + "n"
}

/// A registry file with this many tools.
pub fn registry(tools: usize) -> String {
    let mut numbers = Numbers::new(42);
    let mut out = String::from("{\"sources\":[");
    for tool in 0..tools {
        if tool % TOOLS_A_SERVER == 0 {
            if tool > 0 {
                out.push_str("]},");
            }
            let _ = write!(out, "{{\"name\":\"server{}\",\"kind\":\"mcp\",\"tools\":[", tool / TOOLS_A_SERVER);
        } else {
            out.push(',');
        }
        push_tool(&mut numbers, tool, &mut out);
    }
    if tools > 0 {
        out.push_str("]}");
    }
    out.push_str("]}");
    out
}

fn push_tool(numbers: &mut Numbers, tool: usize, out: &mut String) {
    let action = ACTIONS[numbers.below(ACTIONS.len())];
    let object = numbers.word();
    let _ = write!(out, "{{\"name\":\"{action}_{object}_{tool}\",\"description\":\"");
    let _ = write!(out, "{action} {object}");
    for _ in 0..22 {
        let _ = write!(out, " {}", numbers.word());
    }
    out.push_str(".\",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    for parameter in 0..6 {
        let name = numbers.word();
        let comma = if parameter > 0 { "," } else { "" };
        let _ = write!(out, "{comma}\"{name}_{parameter}\":{{\"type\":\"string\",\"description\":\"");
        for _ in 0..7 {
            let _ = write!(out, "{} ", numbers.word());
        }
        out.push_str("\"}");
    }
    out.push_str("},\"required\":[]}}");
}
