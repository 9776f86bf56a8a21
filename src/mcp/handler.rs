//! One MCP session: what the SDK's server asks of a server.
//!
//! A session that begins with `initialize` has a sidecar connection of its own. Since 2026-07-28 MCP has no sessions:
//! those requests, each of which stands for itself, share one.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::result::{Answer, nobody_runs, tools, waits_for_a_server};
use super::upstream::{Assembled, Failed, Upstream};
use crate::host::Report;

/// For the model, on every turn.
const INSTRUCTIONS: &str = "Where tool_search is among the tools, most of what can be done here is not loaded: search before \
     you say that something is not possible.";
/// Sessions at once. Clients may leave without a word, and their sessions stay for a day.
const MAX_SESSIONS: usize = 4096;
/// Sidecar connections of sessions at once, each of which has threads. Over it those rest that were longest not needed.
pub const MAX_CONNECTIONS: usize = 64;

/// What the sessions of a process share.
pub struct Sessions {
    /// For requests without a session, and the pattern of all others.
    common: Arc<Upstream>,
    places: Arc<Semaphore>,
    begun: Mutex<Vec<Weak<Upstream>>>,
    /// Cancelled when there is nobody left to be told anything.
    pub ended: CancellationToken,
}

impl Sessions {
    /// None yet.
    pub fn new(common: Upstream, ended: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(MAX_SESSIONS));
        Self { common: Arc::new(common), places, begun: Mutex::default(), ended }
    }

    /// One session more.
    fn add(&self, upstream: &Arc<Upstream>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|upstream| upstream.strong_count() > 0);
        begun.push(Arc::downgrade(upstream));
        let open = begun.iter().filter_map(Weak::upgrade);
        let mut open: Vec<_> = open.filter_map(|upstream| Some((upstream.idle_since()?, upstream))).collect();
        open.sort_by_key(|(since, _)| *since);
        let surplus = open.len().saturating_sub(MAX_CONNECTIONS);
        open.iter().take(surplus).for_each(|(_, upstream)| upstream.rest());
    }
}

/// See the module.
pub struct Handler {
    sessions: Arc<Sessions>,
    own: OnceLock<Own>,
}

/// What a session that began with `initialize` has.
struct Own {
    upstream: Arc<Upstream>,
    _place: OwnedSemaphorePermit,
}

impl Handler {
    /// A session that has not begun.
    pub fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, own: OnceLock::new() }
    }

    fn upstream(&self) -> &Arc<Upstream> {
        self.own.get().map_or(&self.sessions.common, |own| &own.upstream)
    }

    async fn begin(&self, peer: &Peer<RoleServer>) -> Result<(), ErrorData> {
        if self.own.get().is_some() {
            return Ok(());
        }
        let full = |_| ErrorData::internal_error(format!("{MAX_SESSIONS} sessions are open; end one first"), None);
        let place = self.sessions.places.clone().try_acquire_owned().map_err(full)?;
        let upstream = Arc::new(self.sessions.common.another());
        // So that a sidecar that cannot be had is told while somebody looks.
        upstream.link().await?;
        if self.own.set(Own { upstream: upstream.clone(), _place: place }).is_ok() {
            self.sessions.add(&upstream);
            tokio::spawn(follow(upstream.news(), Arc::downgrade(&upstream), peer.clone()));
        }
        Ok(())
    }
}

/// Tells the client of every other array than the one it has, until the session ends.
async fn follow(mut news: tokio::sync::watch::Receiver<u64>, upstream: Weak<Upstream>, peer: Peer<RoleServer>) {
    while news.changed().await.is_ok() {
        let Some(upstream) = upstream.upgrade() else { return };
        match upstream.has_changed().await {
            Ok(false) => {}
            Ok(true) => {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            Err(error) => tracing::warn!(?error, "a changed catalog is not taken up"),
        }
    }
}

/// Calls a tool, passing on the client's cancellation and the sidecar's progress.
async fn call(
    upstream: &Upstream,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Box<RawValue>, Failed> {
    let link = upstream.link().await?;
    let token = context.meta.get_progress_token();
    let mut reports = token.as_ref().map(|_| link.reports());
    let params = upstream.call(&request.name, request.arguments, reports.as_ref().map(|reports| reports.token));
    let asked = link.request("bridge/call", params);
    tokio::pin!(asked);
    let mut told = 0.0;
    loop {
        let report = async {
            match &mut reports {
                Some(reports) => reports.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // Dropping what was asked cancels it.
            () = context.ct.cancelled() => return Err(Failed::Cancelled),
            // Reports come before the answer, on the way here, too.
            Some(report) = report => {
                if let Some(token) = &token {
                    tell(report, token.clone(), &mut told, &context.peer).await;
                }
            }
            answer = &mut asked => return answer.map_err(Failed::Asked),
        }
    }
}

/// Passes progress on. MCP wants it to grow with every word, counted or not.
async fn tell(report: Report, token: ProgressToken, told: &mut f64, peer: &Peer<RoleServer>) {
    *told = report.progress.filter(|progress| *progress > *told).unwrap_or(*told + 1.0);
    let mut progress = ProgressNotificationParam::new(token, *told);
    progress.total = report.total;
    progress.message = report.message.filter(|message| !message.is_empty());
    // A client that is gone misses nothing.
    let _ = peer.notify_progress(progress).await;
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.begin(&context.peer).await?;
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("the list has one page, so no cursor is valid", None));
        }
        let upstream = self.upstream();
        upstream.settled().await?;
        let assembled = upstream.assemble(None).await?;
        upstream.set_listed(assembled.etag);
        Ok(ListToolsResult::with_all_items(tools(&assembled.tools.unwrap_or_default())))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let upstream = self.upstream();
        let name = request.name.clone();
        let mut answer = call(upstream, request.clone(), &context).await;
        let may_come = match &answer {
            Ok(answer) => waits_for_a_server(answer),
            Err(failed) => failed.is_unknown_name(),
        };
        if may_come && !upstream.is_settled() {
            // It may be the tool of a server that is starting.
            upstream.settled().await?;
            answer = call(upstream, request, &context).await;
        }
        let result = match answer {
            Ok(answer) => serde_json::from_str::<Answer>(answer.get()).map_err(Failed::Answer)?.into(),
            Err(failed) if failed.is_unknown_name() => {
                // What is listed and not behind the bridge is for a host to run.
                let listed = tools(&upstream.assemble(None).await?.tools.unwrap_or_default());
                if !listed.iter().any(|tool| tool.name == name) {
                    return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
                }
                nobody_runs(&name, None)
            }
            Err(failed) => return Err(failed.into()),
        };
        Ok(CallToolResult::into(result))
    }

    /// Where requests end whose parameters the SDK cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let problem = match request.method.as_str() {
            "tools/call" => request.params_as::<CallToolRequestParams>().err(),
            "tools/list" => request.params_as::<PaginatedRequestParams>().err(),
            _ => None,
        };
        Err(match problem {
            Some(problem) => ErrorData::invalid_params(problem.to_string(), None),
            None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let upstream = self.upstream();
        let mut news = upstream.news();
        // What may have changed between the client's list and this counts as well. Others listen through the same
        // sidecar, so each keeps count of its own array.
        let mut known = upstream.last_listed();
        loop {
            match upstream.assemble(known.as_deref()).await {
                Ok(Assembled { etag, tools }) => {
                    let told = known.replace(etag).is_none() || tools.is_none();
                    if !told && context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
                Err(error) => tracing::warn!(?error, "a changed catalog is not taken up"),
            }
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.sessions.ended.cancelled() => return Ok(()),
                changed = news.changed() => if changed.is_err() { return Ok(()) },
            }
        }
    }
}
