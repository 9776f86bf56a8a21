//! Repairs of arguments that do not fit their schema (CALL-8).
//!
//! A value is touched only where the schema cannot take its type, and only if nothing is lost: every repair
//! can be told from its text. What cannot be repaired stays as it was. All work is bounded: when the budget is
//! gone, the arguments come back untouched.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::cost::{nesting, weight};
use super::excerpt;
use super::schema::{Additional, NodeId, Schema, Types};
use super::violation::write_member;

/// Steps for one set of arguments.
const BUDGET: u64 = 500_000;
/// Nesting of one repair, in schema and value together.
const MAX_DEPTH: usize = 140;
/// Nesting of a value that was JSON text, so that what is repaired stays shallow enough to be walked.
const MAX_PARSED_DEPTH: usize = 128;
/// Repairs told one by one.
const MAX_TOLD: usize = 50;
/// Significant digits that a 64-bit float gives back unchanged.
const EXACT_DIGITS: usize = 15;

/// Arguments after repair, and one text for each repair, in the order of the arguments.
pub(super) struct Coerced {
    pub arguments: Value,
    pub repairs: Vec<String>,
}

/// Repairs what does not fit, as far as that is possible without loss.
pub(super) fn coerce(schema: &Schema, arguments: &Value) -> Coerced {
    let mut repair = Repair { schema, left: BUDGET, path: vec![], told: Vec::new(), untold: 0 };
    let mut repaired = arguments.clone();
    // The whole is an object, whatever the schema says of it: only its members are repaired.
    repair.inside(0, &mut repaired, 0);
    if repair.left == 0 {
        return Coerced { arguments: arguments.clone(), repairs: Vec::new() };
    }
    let mut repairs = repair.told;
    if repair.untold > 0 {
        repairs.push(format!("and {} more values read likewise", repair.untold));
    }
    Coerced { arguments: repaired, repairs }
}

enum Step {
    Member(String),
    Item(usize),
}

struct Repair<'a> {
    schema: &'a Schema,
    left: u64,
    path: Vec<Step>,
    told: Vec<String>,
    untold: usize,
}

impl Repair<'_> {
    /// Takes steps from the budget; false when it is gone.
    fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }

    fn tell(&mut self, what: String) {
        if self.told.len() == MAX_TOLD {
            self.untold += 1;
            return;
        }
        let mut text = String::from("arguments");
        for step in &self.path {
            match step {
                Step::Member(name) => write_member(&mut text, name),
                Step::Item(at) => text.push_str(&format!("[{at}]")),
            }
        }
        text.push_str(": ");
        text.push_str(&what);
        self.told.push(text);
    }

    fn value(&mut self, id: NodeId, value: &mut Value, depth: usize) {
        if depth > MAX_DEPTH || !self.spend(1) {
            return;
        }
        let accepts = self.schema.nodes[id].accepts;
        if !accepts.holds(Types::of(value)) {
            self.convert(id, accepts, value, depth);
        } else if value.is_array() || value.is_object() {
            self.inside(id, value, depth);
        }
    }

    /// Another reading of a value whose type the schema does not take.
    fn convert(&mut self, id: NodeId, accepts: Types, value: &mut Value, depth: usize) {
        if let Value::String(text) = value {
            if let Some(read) = scalar(text, accepts).filter(|read| self.fits(id, read, depth)) {
                let what = match &read {
                    Value::Number(n) if Types::of(&read).holds(Types::INTEGER) => format!("read as the integer {n}"),
                    other => format!("read as {}", excerpt::of(other, 40)),
                };
                self.tell(format!("{} {what}", excerpt::of(value, 60)));
                *value = read;
                return;
            }
            let blank = text.trim().is_empty();
            if blank && accepts.holds(Types::OBJECT) && self.fits(id, &Value::Object(Map::new()), depth) {
                self.tell("blank text read as {}".to_owned());
                *value = Value::Object(Map::new());
                return;
            }
            if let Some(read) = self.container(text, accepts) {
                self.tell(format!("JSON text read as {}", if read.is_array() { "an array" } else { "an object" }));
                *value = read;
                self.inside(id, value, depth);
                return;
            }
            // Text that spells an array, if a broken one, was no single value; a bracket alone spells none.
            if blank || spells_array(text.trim()) {
                return;
            }
        }
        if accepts.holds(Types::ARRAY) && !value.is_null() && !value.is_array() {
            self.wrap(id, value, depth);
        }
    }

    /// A bare value put in an array, if it then is an item as the schema wants it.
    fn wrap(&mut self, id: NodeId, value: &mut Value, depth: usize) {
        if !self.spend(weight(value, depth)) {
            return;
        }
        let mark = (self.told.len(), self.untold);
        self.tell("a single value put in an array".to_owned());
        let mut wrapped = Value::Array(vec![value.clone()]);
        self.inside(id, &mut wrapped, depth);
        if self.fits(id, &wrapped, depth) {
            *value = wrapped;
        } else {
            self.forget(mark);
        }
    }

    fn forget(&mut self, (told, untold): (usize, usize)) {
        self.told.truncate(told);
        self.untold = untold;
    }

    /// The array or object that a text spells.
    fn container(&mut self, text: &str, accepts: Types) -> Option<Value> {
        let wanted = match text.trim_start().as_bytes().first()? {
            b'[' => Types::ARRAY,
            b'{' => Types::OBJECT,
            _ => return None,
        };
        if !accepts.holds(wanted) || !self.spend((text.len() / 8) as u64) {
            return None;
        }
        let read = serde_json::from_str(text).ok()?;
        (self.path.len() + nesting(&read) <= MAX_PARSED_DEPTH).then_some(read)
    }

    /// The members or items of a value that has the right type itself.
    fn inside(&mut self, id: NodeId, value: &mut Value, depth: usize) {
        let mut guides = vec![id];
        let mut at = 0;
        while let Some(&guide) = guides.get(at) {
            at += 1;
            let node = &self.schema.nodes[guide];
            for &to in &node.all_of {
                if self.spend(1) && !guides.contains(&to) {
                    guides.push(to);
                }
            }
            for choice in &node.choices {
                if let Some(to) = self.choose(choice, value, depth)
                    && !guides.contains(&to)
                {
                    guides.push(to);
                }
            }
        }
        for guide in guides {
            self.parts(guide, value, depth);
        }
    }

    fn parts(&mut self, id: NodeId, value: &mut Value, depth: usize) {
        let schema = self.schema;
        let node = &schema.nodes[id];
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let Some(to) = node.properties.get(name.as_str()).copied().or(match node.additional {
                        Additional::Follow(to) if !node.patterned => Some(to),
                        _ => None,
                    }) else {
                        continue;
                    };
                    self.path.push(Step::Member(name.clone()));
                    self.value(to, member, depth + 1);
                    self.path.pop();
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(&to) = node.prefix.get(at).or(node.rest.as_ref()) {
                        self.path.push(Step::Item(at));
                        self.value(to, item, depth + 1);
                        self.path.pop();
                    }
                }
            }
            _ => {}
        }
    }

    /// The alternative that guides the parts of a value: the one it fits already, else the first that it fits
    /// after repair, else the only one of its type.
    fn choose(&mut self, choice: &[NodeId], value: &Value, depth: usize) -> Option<NodeId> {
        let kind = Types::of(value);
        let schema = self.schema;
        let open: Vec<NodeId> = choice.iter().copied().filter(|&to| schema.nodes[to].accepts.holds(kind)).collect();
        if let Some(&fit) = open.iter().find(|&&to| self.fits(to, value, depth)) {
            return Some(fit);
        }
        if let [only] = open[..] {
            return Some(only);
        }
        for &to in &open {
            if !self.spend(weight(value, depth)) {
                return None;
            }
            let mark = (self.told.len(), self.untold);
            let mut trial = value.clone();
            self.value(to, &mut trial, depth + 1);
            self.forget(mark);
            if self.fits(to, &trial, depth) {
                return Some(to);
            }
        }
        None
    }

    /// Whether a value fits a node, as far as the graph knows: a "no" is certain, a "yes" is not.
    fn fits(&mut self, id: NodeId, value: &Value, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return true;
        }
        if !self.spend(1) {
            return false;
        }
        let schema = self.schema;
        let node = &schema.nodes[id];
        if !node.accepts.holds(Types::of(value)) {
            return false;
        }
        if let Some(literals) = &node.literals {
            self.spend(literals.len() as u64);
            if !literals.iter().any(|literal| equal(literal, value)) {
                return false;
            }
        }
        let parts = match value {
            Value::Object(members) => {
                node.required.iter().all(|name| members.contains_key(&**name))
                    && members.iter().all(|(name, member)| match node.properties.get(name.as_str()) {
                        Some(&to) => self.fits(to, member, depth + 1),
                        None if node.patterned => true,
                        None => match node.additional {
                            Additional::Open => true,
                            Additional::Closed => false,
                            Additional::Follow(to) => self.fits(to, member, depth + 1),
                        },
                    })
            }
            Value::Array(items) => items.iter().enumerate().all(|(at, item)| {
                node.prefix.get(at).or(node.rest.as_ref()).is_none_or(|&to| self.fits(to, item, depth + 1))
            }),
            _ => true,
        };
        parts
            && node.all_of.iter().all(|&to| self.fits(to, value, depth + 1))
            && node.choices.iter().all(|choice| choice.iter().any(|&to| self.fits(to, value, depth + 1)))
    }
}

/// Equality of JSON Schema: 1 and 1.0 are the same number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// The number, boolean or null that a text spells, if it is wanted.
fn scalar(text: &str, accepts: Types) -> Option<Value> {
    let word = |word: &str, wanted: Types| accepts.holds(wanted) && text.eq_ignore_ascii_case(word);
    if word("true", Types::BOOLEAN) {
        return Some(Value::Bool(true));
    }
    if word("false", Types::BOOLEAN) {
        return Some(Value::Bool(false));
    }
    if word("null", Types::NULL) {
        return Some(Value::Null);
    }
    if accepts.holds(Types::INTEGER | Types::NUMBER) { number(text, accepts).map(Value::Number) } else { None }
}

/// `-?\d+(\.\d+)?` in ASCII digits, where no digit gets lost.
fn number(text: &str, accepts: Types) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !fraction.is_none_or(all_digits) {
        return None;
    }
    let fraction = fraction.map_or("", |fraction| fraction.trim_end_matches('0'));
    if fraction.is_empty() && accepts.holds(Types::INTEGER) {
        let whole = &text[..text.len() - digits.len() + whole.len()];
        return whole.parse::<i64>().map(Number::from).or_else(|_| whole.parse::<u64>().map(Number::from)).ok();
    }
    if !accepts.holds(Types::NUMBER) {
        return None;
    }
    let significant: Cow<'_, str> = if fraction.is_empty() {
        whole.trim_start_matches('0').into()
    } else {
        format!("{whole}{fraction}").trim_start_matches('0').to_owned().into()
    };
    if significant.len() > EXACT_DIGITS {
        return None;
    }
    text.parse().ok().and_then(Number::from_f64)
}

/// Whether text was meant as a JSON array, well spelled or not.
fn spells_array(text: &str) -> bool {
    let inside = text.strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['"', '[', '{']) || inside.ends_with(']'))
}
