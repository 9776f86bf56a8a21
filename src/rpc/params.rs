//! Parameters by name, to a type.

use serde::de::DeserializeOwned;

use crate::protocol::errors::RpcError;

/// Reads `params`; absent ones are `{}`.
///
/// # Errors
/// -32602, whose `data.pointer` is the place of the offending value.
pub fn parse<P: DeserializeOwned>(params: Option<&str>) -> Result<P, RpcError> {
    let text = params.unwrap_or("{}");
    if text.starts_with('[') {
        return Err(RpcError::invalid_params("", "parameters go by name: send an object, not an array"));
    }
    // Following the path costs an allocation for every key, so it is followed only once something is wrong.
    serde_json::from_str(text).or_else(|_| {
        let mut json = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut json).map_err(|error| RpcError::from_params(&error))
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Search {
        limit: u8,
        tools: Vec<Box<RawValue>>,
    }

    #[test]
    fn by_name() {
        for (label, text, expected) in [
            ("ERRORS: absent is empty", None, Ok(0)),
            ("ERRORS: given", Some(r#"{"limit":3}"#), Ok(3)),
            ("ERRORS: an array is refused", Some("[3]"), Err("")),
            ("ERRORS: a scalar is refused", Some("3"), Err("")),
            ("ERRORS: the pointer", Some(r#"{"limit":300}"#), Err("/limit")),
            ("ERRORS: the pointer beside raw values", Some(r#"{"tools":[{"a":1}],"limit":[]}"#), Err("/limit")),
        ] {
            let parsed = parse::<Search>(text).map(|search| search.limit);
            let parsed = parsed.map_err(|error| error.data.expect(label)["pointer"].as_str().expect(label).to_owned());
            assert_eq!(parsed, expected.map_err(str::to_owned), "{label}");
        }
        let search = parse::<Search>(Some(r#"{"tools":[ {"a" :1} ]}"#)).expect("valid");
        assert_eq!(search.tools[0].get(), r#"{"a" :1}"#, "ERRORS: raw values stay as sent");
    }
}
