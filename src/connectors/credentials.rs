//! `credentials.json` among the user's configuration: the token of each gateway that a person signed in to.
//!
//! `{"gateways": {"https://gateway.example": {"token": "…"}}}`, for its owner alone. What else stands in it is kept. A
//! token is only ever given out for the gateway that it was stored for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::origin::Origin;
use super::token::Token;
use crate::private_file::{self, Unread};

/// Where the file is in the user's folder.
pub fn path_in(folder: &Path) -> PathBuf {
    folder.join("credentials.json")
}

/// A gateway, and the token that was stored for it.
pub type Stored = (Origin, Result<Token, Unread>);

/// What was stored, by gateway; entries that name none are passed over. None where there is no file.
///
/// # Errors
/// See [`Unread`]; of one entry, that it is malformed.
pub fn stored(folder: &Path) -> Result<Vec<Stored>, Unread> {
    let file = match private_file::read(&path_in(folder)) {
        Ok(text) => parse(&text)?,
        Err(Unread::Missing) => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let gateways = file.get("gateways").and_then(Value::as_object).into_iter().flatten();
    let entries = gateways.filter_map(|(origin, entry)| {
        let token = entry.get("token").and_then(Value::as_str).and_then(Token::new);
        Some((Origin::read(origin).ok()?, token.ok_or(Unread::Malformed("no token stands where one should"))))
    });
    Ok(entries.collect())
}

/// The token that was stored for a gateway.
///
/// # Errors
/// See [`Unread`]; a file that has none for this gateway counts as missing.
pub fn token(folder: &Path, origin: &Origin) -> Result<Token, Unread> {
    let stored = stored(folder)?.into_iter().find(|(known, _)| known == origin);
    stored.map_or(Err(Unread::Missing), |(_, token)| token)
}

/// Stores a token for a gateway, over an older one.
///
/// # Errors
/// Those of reading and writing the file; one that is there and of no use is left as it is.
pub fn store(folder: &Path, origin: &Origin, token: &Token) -> io::Result<()> {
    let _alone = alone(folder)?;
    let mut file = existing(folder)?;
    let gateways = file.entry("gateways").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(gateways) = gateways else {
        return Err(io::Error::other("`gateways` in it is no map"));
    };
    gateways.insert(origin.to_string(), serde_json::json!({ "token": token.reveal() }));
    write(folder, &file)
}

/// Takes tokens away: that of one gateway, or all. The origins they were for.
///
/// # Errors
/// As of [`store`].
pub fn remove(folder: &Path, origin: Option<&Origin>) -> io::Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let _alone = alone(folder)?;
    let mut file = existing(folder)?;
    let Some(Value::Object(gateways)) = file.get_mut("gateways") else { return Ok(Vec::new()) };
    let named = origin.map(ToString::to_string);
    let (gone, kept): (Map<_, _>, Map<_, _>) = std::mem::take(gateways)
        .into_iter()
        .partition(|(origin, _)| named.as_ref().is_none_or(|named| named == origin));
    *gateways = kept;
    if !gone.is_empty() {
        write(folder, &file)?;
    }
    Ok(gone.into_iter().map(|(origin, _)| origin).collect())
}

/// What the file says, whoever may read it: it is about to be its owner's alone.
fn existing(folder: &Path) -> io::Result<Map<String, Value>> {
    match private_file::read_exposed(&path_in(folder)) {
        Ok((text, _)) => parse(&text).map_err(|_| io::Error::other("what is in it is no JSON map")),
        Err(Unread::Missing) => Ok(Map::new()),
        Err(why) => Err(io::Error::other(why.told().unwrap_or_default())),
    }
}

/// Held while the file is read to be written: of two who sign in at once neither loses the other's token.
fn alone(folder: &Path) -> io::Result<fs::File> {
    private_file::make_folder(folder)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let lock = options.open(folder.join(".credentials.lock"))?;
    // Where the file system has no locks the last who writes wins, as it did without.
    let _ = lock.lock();
    Ok(lock)
}

fn parse(text: &str) -> Result<Map<String, Value>, Unread> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    // The parser's own message could show a part of the token.
    serde_json::from_str(text).map_err(|_| Unread::Malformed("it is no JSON map"))
}

fn write(folder: &Path, file: &Map<String, Value>) -> io::Result<()> {
    let text = serde_json::to_string_pretty(file)?;
    private_file::write(&path_in(folder), &format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        Origin::read(text).unwrap()
    }

    #[test]
    fn a_token_is_for_its_gateway_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("toolscout");
        let (a, b) = (origin("https://a.example"), origin("https://b.example"));
        assert!(matches!(token(&folder, &a), Err(Unread::Missing)));
        let secret = Token::new("tk_a").unwrap();
        store(&folder, &a, &secret).unwrap();
        assert!(token(&folder, &a).unwrap() == secret);
        assert!(matches!(token(&folder, &b), Err(Unread::Missing)));
        store(&folder, &b, &Token::new("tk_b").unwrap()).unwrap();
        assert_eq!(remove(&folder, Some(&a)).unwrap(), ["https://a.example"]);
        assert!(matches!(token(&folder, &a), Err(Unread::Missing)));
        assert_eq!(remove(&folder, None).unwrap(), ["https://b.example"]);
        assert_eq!(remove(&folder, None).unwrap(), [] as [String; 0]);
        let mut left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".credentials.lock", "credentials.json"]);
    }

    #[test]
    fn who_signs_in_at_once_loses_nothing_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..16).map(|n| format!("https://g{n}.example")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let folder = folder.path();
                scope.spawn(move || store(folder, &origin(name), &Token::new("tk_secret").unwrap()).unwrap());
            }
        });
        assert_eq!(stored(folder.path()).unwrap().len(), names.len());
        std::thread::scope(|scope| {
            for name in &names[1..] {
                let folder = folder.path();
                scope.spawn(move || assert_eq!(remove(folder, Some(&origin(name))).unwrap().len(), 1));
            }
        });
        assert_eq!(stored(folder.path()).unwrap().len(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_lost() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let (a, path) = (origin("https://a.example"), path_in(folder.path()));
        let secret = Token::new("tk_secret").unwrap();
        let refused = || {
            assert!(matches!(token(folder.path(), &a), Err(Unread::Failed(_))));
            assert!(store(folder.path(), &a, &secret).is_err() && remove(folder.path(), None).is_err());
        };
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused();
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        private_file::write(&path, &" ".repeat(private_file::LARGEST as usize + 1)).unwrap();
        refused();
        fs::remove_file(&path).unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let real = folder.path().join("elsewhere/mine.json");
        private_file::write(&real, "{\"kept\": 1}").unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        store(folder.path(), &a, &secret).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "a person's link stays one");
        assert!(fs::read_to_string(&real).unwrap().contains("kept") && token(folder.path(), &a).unwrap() == secret);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let a = origin("https://a.example");
        store(folder.path(), &a, &Token::new("tk_a").unwrap()).unwrap();
        let path = path_in(folder.path());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(token(folder.path(), &a), Err(Unread::Exposed)), "{mode:o}");
        }
        store(folder.path(), &a, &Token::new("tk_c").unwrap()).unwrap();
        assert!(token(folder.path(), &a).unwrap() == Token::new("tk_c").unwrap(), "signing in again mends it");
    }

    #[test]
    fn what_is_no_use_is_told_without_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let a = origin("https://a.example");
        for text in ["{\"tk_secret\"", "[\"tk_secret\"]", r#"{"gateways": {"https://a.example": {"token": 5}}}"#] {
            private_file::write(&path_in(folder.path()), text).unwrap();
            let why = token(folder.path(), &a).unwrap_err();
            assert!(!why.told().unwrap().contains("tk_secret"), "CONN-7: {text}");
        }
        private_file::write(&path_in(folder.path()), "{\"tk_secret\"").unwrap();
        assert!(store(folder.path(), &a, &Token::new("x").unwrap()).is_err(), "what a person wrote is not lost");
    }
}
