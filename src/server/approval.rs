//! Asking a person, through the host, whether the sidecar may do something by itself.

use serde_json::{Map, Value};

use crate::protocol::host::{ApproveParams, ApproveResult, Decision};
use crate::rpc::Peer;

/// Asks; arguments that are to be taken instead of those shown, if any.
///
/// # Errors
/// Why it may not be done, for the model.
pub async fn approval(peer: &Peer, asked: ApproveParams) -> Result<Option<Map<String, Value>>, String> {
    let answer = peer.request("host/approve", asked).await;
    match answer.map(|answer| serde_json::from_str::<ApproveResult>(answer.get())) {
        Ok(Ok(ApproveResult { decision: Decision::Allow, arguments, .. })) => match arguments {
            None => Ok(None),
            Some(Value::Object(arguments)) => Ok(Some(arguments)),
            Some(_) => Err("the arguments that it was approved with are no object".to_owned()),
        },
        Ok(Ok(ApproveResult { reason: Some(reason), .. })) => Err(format!("it was denied: {reason}")),
        Ok(Ok(_)) => Err("it was denied".to_owned()),
        Ok(Err(_)) => Err("the host's answer is not `{decision, arguments?, reason?}`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
