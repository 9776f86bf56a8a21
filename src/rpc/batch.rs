//! The answers of one batch, gathered to go out as one array.

use std::sync::{Arc, Mutex};

use super::lock;
use super::outgoing::Outgoing;

/// Where an answer goes.
#[derive(Clone)]
pub(super) enum Reply {
    /// Out at once.
    Alone,
    /// Into this place of a batch.
    Batch(Arc<Batch>, usize),
}

impl Reply {
    /// Sends a whole response object.
    pub fn send(self, outgoing: &Arc<Outgoing>, body: Vec<u8>) {
        let ready = match self {
            Self::Alone => Some(body),
            Self::Batch(batch, place) => batch.fill(place, body),
        };
        if let Some(body) = ready {
            outgoing.push(body);
        }
    }
}

/// Answers in the order of their requests.
pub(super) struct Batch(Mutex<Slots>);

struct Slots {
    bodies: Vec<Vec<u8>>,
    missing: usize,
}

impl Batch {
    /// For `count` answers.
    pub fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Slots { bodies: vec![Vec::new(); count], missing: count })))
    }

    /// The whole array, with the last missing answer.
    fn fill(&self, place: usize, body: Vec<u8>) -> Option<Vec<u8>> {
        let mut slots = lock(&self.0);
        if let Some(slot) = slots.bodies.get_mut(place).filter(|slot| slot.is_empty()) {
            *slot = body;
            slots.missing -= 1;
        }
        if slots.missing > 0 {
            return None;
        }
        let mut array = Vec::with_capacity(slots.bodies.iter().map(|body| body.len() + 1).sum::<usize>() + 2);
        for body in std::mem::take(&mut slots.bodies) {
            array.push(if array.is_empty() { b'[' } else { b',' });
            array.extend_from_slice(&body);
        }
        array.push(b']');
        Some(array)
    }
}
