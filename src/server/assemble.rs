//! `assemble`: the tool array of a turn.

use super::current::{off_thread, scope};
use super::session::Session;
use crate::catalog::assembly::{self, Request};
use crate::protocol::errors::RpcError;
use crate::protocol::work::{AssembleParams, AssembleResult, Kept, TokenCounts};
use crate::rpc::Call;

pub async fn assemble(call: Call<Session>, params: AssembleParams) -> Result<AssembleResult, RpcError> {
    let _timer = call.session.metrics.time("assemble", call.ticket.arrived);
    let current = call.session.current(&call, params.progress_token.as_ref()).await?;
    let (catalog, problems) = current.with_inline(params.tools).await?;
    let scope = scope(params.scope)?;
    let request = Request::new(&catalog, &scope, params.context_length, params.format.into());
    let request = request.with_remote(current.shows_remote(&scope));
    let made = match assembly::kept(&catalog, &request) {
        Some(kept) => kept,
        None => off_thread(move || assembly::assemble_for(&catalog, &scope, request)).await?,
    };
    let unchanged = params.if_etag.is_some_and(|etag| etag == made.etag);
    Ok(AssembleResult {
        unchanged: unchanged.then_some(true),
        activated: made.activated,
        tier: made.tier,
        listing_form: made.form,
        deferred_count: made.deferred_count,
        deferred_tokens: made.deferred_tokens,
        listing_budget: made.listing_budget,
        listing_tokens: made.listing_tokens,
        tokens: TokenCounts { before: made.tokens_before, after: made.tokens_after },
        etag: made.etag.clone(),
        revision: current.revision,
        problems,
        tools: (!unchanged).then_some(Kept(made)),
    })
}
