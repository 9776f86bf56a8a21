//! Standard input that tells of its end, so that what only waits for news does not keep the process, and ends when it is
//! told to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// See the module.
pub struct Input {
    stdin: Stdin,
    ended: CancellationToken,
    /// Ready once that is cancelled.
    told: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Input {
    /// Reads until standard input ends, which cancels `ended`, or that is cancelled.
    pub fn new(stdin: Stdin, ended: CancellationToken) -> Self {
        let told = Box::pin(ended.clone().cancelled_owned());
        Self { stdin, ended, told }
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.told.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stdin).poll_read(context, buffer));
        if read.is_err() || buffer.filled().len() == before {
            self.ended.cancel();
        }
        Poll::Ready(read)
    }
}
