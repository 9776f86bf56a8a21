//! A sign-in that goes on by itself, whoever asked for it.

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::flow::{Ending, Flow, PATIENT};

/// See the module. Clones are the same.
#[derive(Clone)]
pub struct SignIn {
    link: String,
    ending: watch::Receiver<Option<Ending>>,
}

impl SignIn {
    /// Waits for the person on this runtime, as long as `until` has not come; tells `done` of a good end before anybody.
    pub fn go_on(
        flow: Flow,
        runtime: &Handle,
        until: impl Future<Output = ()> + Send + 'static,
        done: impl FnOnce() + Send + 'static,
    ) -> Self {
        let link = flow.link().to_owned();
        let (told, ending) = watch::channel(None);
        runtime.spawn(async move {
            let ended = tokio::select! {
                ended = flow.wait(PATIENT) => ended,
                () = until => Ending::Failed("the server is not used any more".to_owned()),
            };
            if ended == Ending::Authorized {
                done();
            }
            told.send_replace(Some(ended));
        });
        Self { link, ending }
    }

    /// Where the person signs in.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        self.ending.borrow().clone()
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> Ending {
        let ended = self.ending.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|ended| ended.clone());
        ended.unwrap_or_else(|| Ending::Failed("the sidecar is ending".to_owned()))
    }
}
