//! A URL without what may be a key: the user information before its host, and what follows its path.

/// Stands for what is not shown.
pub const MASK: &str = "***";

/// What of a URL may be secret: the user information, the query, the fragment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Secret<'a> {
    /// Before `@`.
    pub user: Option<&'a str>,
    /// After the first `?` or `#`.
    pub rest: Option<&'a str>,
}

/// Finds them. Whatever else the text is, it has none.
pub fn secret(url: &str) -> Secret<'_> {
    let Some((_, after)) = url.split_once("://") else { return Secret::default() };
    let authority = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
    Secret {
        user: authority.rfind('@').map(|at| &authority[..at]),
        rest: after.find(['?', '#']).map(|at| &after[at + 1..]),
    }
}

/// The URL with [`MASK`] in their place.
pub fn masked(url: &str) -> String {
    let Secret { user, rest } = secret(url);
    let kept = &url[..url.len() - rest.map_or(0, str::len)];
    let mut shown = match (user, kept.split_once("://")) {
        (Some(user), Some((scheme, after))) => format!("{scheme}://{MASK}{}", &after[user.len()..]),
        _ => kept.to_owned(),
    };
    if rest.is_some() {
        shown.push_str(MASK);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn what_may_be_a_key_is_masked() {
        for (url, shown) in [
            ("https://x/mcp", "https://x/mcp"),
            ("https://x/mcp?key=a", "https://x/mcp?***"),
            ("https://user:pass@x:8/mcp?key=a#b", "https://***@x:8/mcp?***"),
            ("https://us@er:pass@x", "https://***@x"),
            ("https://x/a@b", "https://x/a@b"),
            ("https://x#key", "https://x#***"),
            ("https://${A}@x?", "https://***@x?***"),
            ("no address?a", "no address?a"),
            ("", ""),
        ] {
            assert_eq!(masked(url), shown, "{url}");
        }
    }
}
