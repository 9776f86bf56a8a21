//! Work on what is large, in turn: two large messages at once would take all the threads that small ones need.

use std::io::{self, Write};

use serde::Serialize;
use tokio::sync::Semaphore;

/// Bytes from which on something is large.
pub const LARGE: usize = 1 << 20;

static TURN: Semaphore = Semaphore::const_new(1);

/// Does the work when it is its turn, on a thread of the asking runtime that may be blocked. Nothing comes of work that
/// panics.
pub async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let turn = TURN.acquire().await.ok()?;
    let work = move || {
        // Until it is done, even if nobody waits for it any more.
        let _turn = turn;
        work()
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// Whether something has more bytes as JSON than these. Looks no further than that.
pub fn exceeds(value: &impl Serialize, bytes: usize) -> bool {
    serde_json::to_writer(Room(bytes), value).is_err()
}

/// Takes so many bytes and no more.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_is_known_from_its_beginning() {
        for (text, bytes, expected) in [("", 2, false), ("", 1, true), ("abc", 5, false), ("abcd", 5, true)] {
            assert_eq!(exceeds(&text, bytes), expected, "{text} {bytes}");
        }
    }

    #[tokio::test]
    async fn one_at_a_time_and_each_is_done() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static AT_WORK: AtomicUsize = AtomicUsize::new(0);
        let work = |number: usize| {
            in_turn(move || {
                let others = AT_WORK.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                AT_WORK.fetch_sub(1, Ordering::SeqCst);
                (number, others)
            })
        };
        let tasks: Vec<_> = (0..32).map(|number| tokio::spawn(work(number))).collect();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), Some((number, 0)));
        }
        assert_eq!(in_turn(|| panic!("as it was told to")).await, None::<()>);
        assert_eq!(in_turn(|| 1).await, Some(1), "it took its turn with it");
    }
}
