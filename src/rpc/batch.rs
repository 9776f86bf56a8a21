//! The answers of one batch, gathered to go out as one array.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

use super::lock;
use super::outgoing::Outgoing;

/// Requests of one batch that run at once, so that what they answer is known before all have begun.
const AT_ONCE: usize = 32;

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
            Self::Batch(batch, place) => batch.fill(place, body, outgoing),
        };
        if let Some(body) = ready {
            outgoing.push(body);
        }
    }

    /// Of a request in a batch: what it must hold one permit of while it runs.
    pub fn turns(&self) -> Option<Arc<Semaphore>> {
        match self {
            Self::Alone => None,
            Self::Batch(batch, _) => Some(batch.turns.clone()),
        }
    }
}

/// Answers in the order of their requests.
pub(super) struct Batch {
    slots: Mutex<Slots>,
    turns: Arc<Semaphore>,
}

struct Slots {
    bodies: Vec<Vec<u8>>,
    missing: usize,
}

impl Batch {
    /// For `count` answers.
    pub fn new(count: usize) -> Arc<Self> {
        let slots = Mutex::new(Slots { bodies: vec![Vec::new(); count], missing: count });
        Arc::new(Self { slots, turns: Arc::new(Semaphore::new(AT_ONCE)) })
    }

    /// The whole array, with the last missing answer.
    fn fill(&self, place: usize, body: Vec<u8>, outgoing: &Outgoing) -> Option<Vec<u8>> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.bodies.get_mut(place).filter(|slot| slot.is_empty()) {
            outgoing.batched.fetch_add(body.len(), Ordering::Relaxed);
            *slot = body;
            slots.missing -= 1;
        }
        if slots.missing > 0 {
            return None;
        }
        let bytes: usize = slots.bodies.iter().map(Vec::len).sum();
        outgoing.batched.fetch_sub(bytes, Ordering::Relaxed);
        let mut array = Vec::with_capacity(bytes + slots.bodies.len() + 2);
        for body in std::mem::take(&mut slots.bodies) {
            array.push(if array.is_empty() { b'[' } else { b',' });
            array.extend_from_slice(&body);
        }
        array.push(b']');
        Some(array)
    }
}
