//! Who is signed in, where: a gateway and a token, from the environment, a file of the token's own, or what
//! `toolscout login` stored.

use std::path::{Path, PathBuf};

use super::credentials::{self, Stored};
use super::origin::Origin;
use super::token::Token;
use crate::call::excerpt;
use crate::diagnostic::{Diagnostic, Severity};
use crate::private_file::{self, Unread};

/// The variable that holds a token.
pub const VARIABLE: &str = "TOOLSCOUT_GATEWAY_TOKEN";

/// What settings and environment say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `tools.connectors.gateway_url`. Where it is not set, the only gateway that somebody signed in to is meant.
    pub gateway_url: Option<String>,
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
    /// Where that was read.
    pub kept: Kept,
}

/// Where a token was read, which is where it has to be renewed: anywhere else it would not be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// In the variable.
    Variable,
    /// In the file that `token_file` names.
    File(PathBuf),
    /// Among what `toolscout login` stored.
    Stored,
}

impl Kept {
    /// How a person renews it.
    pub fn renewal(&self) -> String {
        match self {
            Self::Variable => {
                format!(
                    "a person puts a new token into the variable {VARIABLE} where the host is started, and starts it anew"
                )
            }
            Self::File(file) => format!("a person puts a new token into the file {}", file.display()),
            Self::Stored => "a person renews it with `toolscout login`".to_owned(),
        }
    }
}

impl Settings {
    /// The files that decide who is signed in.
    pub fn files(&self) -> Vec<PathBuf> {
        let stored = || self.folder.as_deref().map(credentials::path_in);
        let token = match (&self.environment, &self.token_file) {
            (Some(_), _) => None,
            (None, Some(file)) => Some(file.clone()),
            (None, None) => stored(),
        };
        let url = if self.gateway_url.is_none() { stored() } else { None };
        let mut files: Vec<PathBuf> = token.into_iter().chain(url).collect();
        files.dedup();
        files
    }

    /// Who is signed in, and what is wrong with what was written. A token in the environment that is none, or a
    /// `token_file` that is refused, is not made up for by the next place: that could be another account's.
    pub fn sign_in(&self) -> (Option<SignIn>, Vec<Diagnostic>) {
        match self.read() {
            Ok(sign_in) => (sign_in, Vec::new()),
            Err(finding) => (None, vec![finding]),
        }
    }

    fn read(&self) -> Result<Option<SignIn>, Diagnostic> {
        let (origin, stored) = match &self.gateway_url {
            Some(url) => {
                let origin = Origin::read(url).map_err(|why| {
                    let message = format!("`tools.connectors.gateway_url` is not taken: {why}");
                    Diagnostic::whole(&self.url_file, Severity::Error, "gateway-url-refused", message)
                })?;
                (origin, None)
            }
            None => match self.only_stored()? {
                Some((origin, token)) => (origin, Some(token)),
                None => return Ok(None),
            },
        };
        let (token, file, kept) = match (&self.environment, &self.token_file, &self.folder) {
            (Some(text), ..) => {
                let none = Unread::Malformed("what it holds is no token");
                (Token::new(text).ok_or(none), PathBuf::new(), Kept::Variable)
            }
            (None, Some(file), _) => (of_file(file), file.clone(), Kept::File(file.clone())),
            (None, None, Some(folder)) => {
                let token = stored.unwrap_or_else(|| credentials::token(folder, &origin));
                (token, credentials::path_in(folder), Kept::Stored)
            }
            (None, None, None) => return Ok(None),
        };
        match token {
            Ok(token) => Ok(Some(SignIn { origin, token, kept })),
            Err(why) => {
                let missing = matches!(why, Unread::Missing) && self.token_file.as_deref() == Some(file.as_path());
                let why = if missing { Some("there is no such file".to_owned()) } else { why.told() };
                let what =
                    if self.environment.is_some() { format!("the variable {VARIABLE}: ") } else { String::new() };
                why.map_or(Ok(None), |why| Err(refused(&file, &format!("{what}{why}"))))
            }
        }
    }

    /// The gateway that somebody signed in to, where it is one, with its token.
    fn only_stored(&self) -> Result<Option<Stored>, Diagnostic> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let file = credentials::path_in(folder);
        let stored = match credentials::stored(folder) {
            Ok(stored) => stored,
            Err(why) => return why.told().map_or(Ok(None), |why| Err(refused(&file, &why))),
        };
        if stored.len() > 1 {
            let origins: Vec<String> = stored.iter().map(|(origin, _)| origin.to_string()).collect();
            let message = format!(
                "there are sign-ins to several gateways, so none is used: set `tools.connectors.gateway_url` to one of {}",
                excerpt::list(origins.iter(), 400, Clone::clone)
            );
            return Err(Diagnostic::whole(file.display().to_string(), Severity::Error, "gateway-ambiguous", message));
        }
        Ok(stored.into_iter().next())
    }
}

fn refused(file: &Path, why: &str) -> Diagnostic {
    Diagnostic::whole(file.display().to_string(), Severity::Error, "gateway-token-refused", why)
}

fn of_file(path: &Path) -> Result<Token, Unread> {
    let text = private_file::read(path)?;
    Token::new(&text).ok_or(Unread::Malformed("it should hold a token and nothing else"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(folder: &Path) -> Settings {
        Settings {
            gateway_url: Some("https://a.example".into()),
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
        let origin = Origin::read("https://a.example").unwrap();
        credentials::store(folder.path(), &origin, &Token::new("stored").unwrap()).unwrap();
        let file = folder.path().join("token");
        private_file::write(&file, "of-a-file\n").unwrap();
        let with_file = Settings { token_file: Some(file.clone()), ..plain.clone() };
        let with_both = Settings { environment: Some("of-the-environment".into()), ..with_file.clone() };
        for (settings, token, renewed_in) in [
            (plain, "stored", "toolscout login"),
            (with_file, "of-a-file", file.to_str().unwrap()),
            (with_both, "of-the-environment", VARIABLE),
        ] {
            let signed = settings.sign_in().0.unwrap();
            assert!(signed.token == Token::new(token).unwrap(), "{token}");
            assert!(!format!("{signed:?}").contains(token), "CONN-7");
            assert!(signed.kept.renewal().contains(renewed_in), "{token}");
        }
    }

    #[test]
    fn what_is_refused_is_told_and_not_made_up_for() {
        let folder = tempfile::tempdir().unwrap();
        let plain = settings(folder.path());
        let origin = Origin::read("https://a.example").unwrap();
        credentials::store(folder.path(), &origin, &Token::new("stored").unwrap()).unwrap();
        let blank = folder.path().join("blank");
        private_file::write(&blank, "two words").unwrap();
        let absent = folder.path().join("absent");
        for (settings, file, part) in [
            (Settings { gateway_url: Some("http://a.example".into()), ..plain.clone() }, "config.yaml", "in the clear"),
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

    #[test]
    fn the_only_gateway_that_was_signed_in_to_is_meant_where_none_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let plain = Settings { gateway_url: None, ..settings(folder.path()) };
        assert_eq!(plain.sign_in(), (None, Vec::new()), "signed out is no mistake");
        let origins = ["https://a.example", "https://b.example"].map(|origin| Origin::read(origin).unwrap());
        let store = |origin| credentials::store(folder.path(), origin, &Token::new("stored").unwrap()).unwrap();
        store(&origins[0]);
        let with_environment = Settings { environment: Some("mine".into()), ..plain.clone() };
        for (settings, token) in [(&plain, "stored"), (&with_environment, "mine")] {
            let signed = settings.sign_in().0.unwrap();
            assert!(signed.origin == origins[0] && signed.token == Token::new(token).unwrap(), "{token}");
        }
        store(&origins[1]);
        let (signed, found) = plain.sign_in();
        assert_eq!((signed, found.len(), found[0].code), (None, 1, "gateway-ambiguous"));
        assert!(found[0].message.contains("gateway_url") && found[0].message.contains("https://b.example"));
        let named = Settings { gateway_url: Some("https://b.example".into()), ..plain.clone() };
        assert_eq!(named.sign_in().0.unwrap().origin, origins[1], "configuration wins");
        credentials::remove(folder.path(), Some(&origins[0])).unwrap();
        assert_eq!(plain.sign_in().0.unwrap().origin, origins[1]);
        private_file::write(&credentials::path_in(folder.path()), "{").unwrap();
        assert_eq!(plain.sign_in().1[0].code, "gateway-token-refused");
    }

    #[test]
    fn the_files_that_decide_are_those_that_are_read() {
        let stored = credentials::path_in(Path::new("/u"));
        let file = PathBuf::from("/t");
        let plain = settings(Path::new("/u"));
        let with = |url: bool, file: Option<&PathBuf>, environment: bool| Settings {
            gateway_url: plain.gateway_url.clone().filter(|_| url),
            token_file: file.cloned(),
            environment: environment.then(|| "x".into()),
            ..plain.clone()
        };
        for (settings, expected) in [
            (with(true, None, false), vec![stored.clone()]),
            (with(true, Some(&file), false), vec![file.clone()]),
            (with(true, Some(&file), true), vec![]),
            (with(false, None, false), vec![stored.clone()]),
            (with(false, Some(&file), false), vec![file.clone(), stored.clone()]),
            (with(false, Some(&file), true), vec![stored.clone()]),
        ] {
            assert_eq!(settings.files(), expected);
        }
    }
}
