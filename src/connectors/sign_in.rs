//! Who is signed in, where: a gateway and a token, from the environment, a file of the token's own, or what
//! `toolscout login` stored.

use std::path::{Path, PathBuf};

use super::credentials;
use super::origin::Origin;
use super::token::Token;
use crate::diagnostic::{Diagnostic, Severity};
use crate::private_file::{self, Unread};

/// The variable that holds a token.
pub const VARIABLE: &str = "TOOLSCOUT_GATEWAY_TOKEN";

/// What settings and environment say. Where there is no `gateway_url` nobody is signed in, and nothing is looked up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `tools.connectors.gateway_url`.
    pub gateway_url: String,
    /// The file that says so, empty where none does.
    pub url_file: String,
    /// `tools.connectors.token_file`, made absolute.
    pub token_file: Option<PathBuf>,
    /// The token of the environment.
    pub environment: Option<String>,
    /// The user's folder of configuration.
    pub folder: Option<PathBuf>,
}

/// A gateway, and the token for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The gateway.
    pub origin: Origin,
    /// The token.
    pub token: Token,
}

impl Settings {
    /// Who is signed in, and what is wrong with what was written. Reads at most one file. A token in the environment
    /// that is none, or a `token_file` that is refused, is not made up for by the next place: that could be another
    /// account's.
    pub fn sign_in(&self) -> (Option<SignIn>, Vec<Diagnostic>) {
        let origin = match Origin::read(&self.gateway_url) {
            Ok(origin) => origin,
            Err(why) => {
                let message = format!("`tools.connectors.gateway_url` is not taken: {why}");
                return (None, vec![finding(&self.url_file, "gateway-url-refused", message)]);
            }
        };
        let (token, file) = match (&self.environment, &self.token_file, &self.folder) {
            (Some(text), ..) => {
                let none = Unread::Malformed("what it holds is no token");
                (Token::new(text).ok_or(none), PathBuf::new())
            }
            (None, Some(file), _) => (of_file(file), file.clone()),
            (None, None, Some(folder)) => (credentials::token(folder, &origin), credentials::path_in(folder)),
            (None, None, None) => return (None, Vec::new()),
        };
        match token {
            Ok(token) => (Some(SignIn { origin, token }), Vec::new()),
            Err(why) => {
                let missing = matches!(why, Unread::Missing) && self.token_file.as_deref() == Some(file.as_path());
                let why = if missing { Some("there is no such file".to_owned()) } else { why.told() };
                let what =
                    if self.environment.is_some() { format!("the variable {VARIABLE}: ") } else { String::new() };
                let code = "gateway-token-refused";
                let file = file.display().to_string();
                (None, why.map(|why| finding(&file, code, format!("{what}{why}"))).into_iter().collect())
            }
        }
    }
}

fn of_file(path: &Path) -> Result<Token, Unread> {
    let text = private_file::read(path)?;
    Token::new(&text).ok_or(Unread::Malformed("it should hold a token and nothing else"))
}

fn finding(file: &str, code: &'static str, message: String) -> Diagnostic {
    Diagnostic {
        file: file.to_owned(),
        line: 0,
        column: 0,
        severity: Severity::Error,
        code,
        message,
        pointer: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(folder: &Path) -> Settings {
        Settings {
            gateway_url: "https://a.example".into(),
            url_file: "config.yaml".into(),
            token_file: None,
            environment: None,
            folder: Some(folder.to_owned()),
        }
    }

    #[test]
    fn the_environment_wins_over_a_file_and_a_file_over_what_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        let plain = settings(folder.path());
        assert_eq!(plain.sign_in(), (None, Vec::new()), "signed out is no mistake");
        let origin = Origin::read(&plain.gateway_url).unwrap();
        credentials::store(folder.path(), &origin, &Token::new("stored").unwrap()).unwrap();
        let file = folder.path().join("token");
        private_file::write(&file, "of-a-file\n").unwrap();
        let with_file = Settings { token_file: Some(file), ..plain.clone() };
        let with_both = Settings { environment: Some("of-the-environment".into()), ..with_file.clone() };
        for (settings, token) in [(plain, "stored"), (with_file, "of-a-file"), (with_both, "of-the-environment")] {
            let signed = settings.sign_in().0.unwrap();
            assert!(signed.token == Token::new(token).unwrap(), "{token}");
            assert!(!format!("{signed:?}").contains(token), "CONN-7");
        }
    }

    #[test]
    fn what_is_refused_is_told_and_not_made_up_for() {
        let folder = tempfile::tempdir().unwrap();
        let plain = settings(folder.path());
        let origin = Origin::read(&plain.gateway_url).unwrap();
        credentials::store(folder.path(), &origin, &Token::new("stored").unwrap()).unwrap();
        let blank = folder.path().join("blank");
        private_file::write(&blank, "two words").unwrap();
        let absent = folder.path().join("absent");
        for (settings, file, part) in [
            (Settings { gateway_url: "http://a.example".into(), ..plain.clone() }, "config.yaml", "in the clear"),
            (Settings { environment: Some("two words".into()), ..plain.clone() }, "", "TOOLSCOUT_GATEWAY_TOKEN"),
            (Settings { token_file: Some(blank.clone()), ..plain.clone() }, blank.to_str().unwrap(), "a token"),
            (Settings { token_file: Some(absent.clone()), ..plain.clone() }, absent.to_str().unwrap(), "no such file"),
        ] {
            let (signed, found) = settings.sign_in();
            assert_eq!(signed, None, "{part}");
            assert_eq!((found.len(), found[0].file.as_str()), (1, file));
            assert!(found[0].message.contains(part) && !found[0].message.contains("two words"), "{}", found[0].message);
        }
    }
}
