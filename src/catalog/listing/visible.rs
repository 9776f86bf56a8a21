//! The visible part of a stranger's text: no control, zero-width or bidirectional characters, white space folded.
//!
//! What comes out is one line whatever went in. It does not judge letters: look-alikes pass.

/// What stood before a visible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing that shows.
    None,
    /// White space.
    Space,
    /// White space with an empty line in it.
    Paragraph,
}

/// The visible characters of a text, each with the gap before it. White space at the end is lost.
pub(super) fn visible(text: &str) -> impl Iterator<Item = (Gap, char)> {
    let mut chars = text.chars();
    std::iter::from_fn(move || {
        let (mut gap, mut breaks) = (Gap::None, 0);
        for c in chars.by_ref() {
            if c.is_whitespace() {
                breaks += match c {
                    '\u{2029}' => 2,
                    '\n' | '\u{85}' | '\u{2028}' => 1,
                    _ => 0,
                };
                gap = if breaks < 2 { Gap::Space } else { Gap::Paragraph };
            } else if !is_invisible(c) {
                return Some((gap, c));
            }
        }
        None
    })
}

/// Appends a name or a label: visible characters, single spaces, `?` where nothing can be seen.
pub(in crate::catalog) fn push(out: &mut String, text: &str) {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
        return out.push_str(text);
    }
    let start = out.len();
    for (gap, c) in visible(text) {
        if gap != Gap::None && out.len() > start {
            out.push(' ');
        }
        out.push(c);
    }
    if out.len() == start {
        out.push('?');
    }
}

/// Whether a character takes no place, and neither lays out text nor shapes what stands beside it, as the joiners and
/// variation selectors of scripts and emoji do: nobody sees that it is there.
pub fn hides(c: char) -> bool {
    let shapes = matches!(c,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}');
    is_invisible(c) && !shapes && !matches!(c, '\t' | '\n' | '\r')
}

/// Controls (Cc), format characters (Cf) and the rest of Unicode's `Default_Ignorable_Code_Point`, which take
/// no place on a screen and have carried hidden instructions. After DerivedCoreProperties.txt, Unicode 17.
fn is_invisible(c: char) -> bool {
    if c < '\u{ad}' {
        return c.is_control();
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
