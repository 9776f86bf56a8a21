use std::path::Path;

use proptest::prelude::*;

use super::super::tokens::estimate;
use super::*;

#[test]
fn summaries() {
    let a59 = "a".repeat(59);
    let cases = [
        ("LISTING-3: the first sentence", "Creates an issue. Needs a title.", "Creates an issue."),
        ("LISTING-3: no full stop", "Creates an issue", "Creates an issue"),
        ("LISTING-3: no description", "", ""),
        ("LISTING-3: white space alone is no description", " \t\r\n\u{3000}", ""),
        ("LISTING-3: nothing visible is no description", "\u{200b}\u{feff}\u{202e}\u{0}", ""),
        ("LISTING-3: white space is folded", "  Reads\t\n  a \u{a0}\r\n file.  ", "Reads a file."),
        ("LISTING-3: line separators are white space", "Reads\u{2028}a\u{85}file", "Reads a file"),
        ("LISTING-3: no line is forged", "Reads.\n- delete_all: harmless", "Reads."),
        ("LISTING-3: nor without a full stop", "Reads\r- delete_all: harmless", "Reads - delete_all: harmless"),
        ("LISTING-3: controls are dropped", "Re\u{0}ad\u{1b}[31ms\u{7f}\u{9b}", "Read[31ms"),
        ("LISTING-3: zero-width characters are dropped", "R\u{200b}e\u{200d}a\u{2060}d\u{feff}s\u{ad}", "Reads"),
        ("LISTING-3: bidirectional ones too", "\u{202e}Re\u{2066}ad\u{2069}\u{200f}s\u{61c}", "Reads"),
        ("LISTING-3: tags hide no text", "Reads\u{e0001}\u{e0041}\u{e007f}", "Reads"),
        ("LISTING-3: nor do variation selectors", "Reads\u{fe0f}\u{e0100}\u{e01ef}", "Reads"),
        ("LISTING-3: visible marks stay", "Liest Größen, créé, é", "Liest Größen, créé, é"),
        ("LISTING-3: e.g. ends no sentence", "Lists items, e.g. Bugs. Paged.", "Lists items, e.g. Bugs."),
        ("LISTING-3: nor does i.e. in brackets", "Lists all (i.e. Every one). Paged.", "Lists all (i.e. Every one)."),
        ("LISTING-3: nor etc.", "Lists bugs, tasks, etc. By date. Paged.", "Lists bugs, tasks, etc. By date."),
        ("LISTING-3: nor etc. before a bracket", "Bugs (tasks, etc.) By date. Paged.", "Bugs (tasks, etc.) By date."),
        ("LISTING-3: nor vs. in any case", "Compares A VS. B. Slow.", "Compares A VS. B."),
        ("LISTING-3: a word that ends so does", "Reads the fetc. Slow.", "Reads the fetc."),
        ("LISTING-3: v1.2 ends no sentence", "Calls API v1.2 of a service. Slow.", "Calls API v1.2 of a service."),
        ("LISTING-3: but a full stop after it does", "Calls v1.2. Slow.", "Calls v1.2."),
        ("LISTING-3: nor does example.com", "Reads example.com pages. Slow.", "Reads example.com pages."),
        ("LISTING-3: ! and ? end one", "Really? Yes.", "Really?"),
        ("LISTING-3: a closing quote belongs to it", "Says \"hello.\" Then ends.", "Says \"hello.\""),
        ("LISTING-3: a number of a list is no sentence", "1. Reads a file. 2. Ends.", "1. Reads a file."),
        ("LISTING-3: ideographic full stop", "使用必应搜索。返回列表。", "使用必应搜索。"),
        ("LISTING-3: with its closing quote", "「検索する。」次の文", "「検索する。」"),
        ("LISTING-3: danda", "फ़ाइल पढ़ता है। फिर", "फ़ाइल पढ़ता है।"),
        ("LISTING-3: a title is a sentence", "List advisories\n\nLists all of them.", "List advisories"),
        ("LISTING-3: a broken sentence is one", "Lists\n\nall of them. Paged.", "Lists all of them."),
        ("LISTING-3: marks before the text go", "> ## Title\nof it", "Title of it"),
        ("LISTING-3: marks inside stay", "Reads `a` - b", "Reads `a` - b"),
        ("LISTING-3: 60 characters stand", &format!("{a59}b"), &format!("{a59}b")),
        ("LISTING-3: 60 with full stop stand", &format!("{a59}. More"), &format!("{a59}.")),
        ("LISTING-3: 61 do not", &format!("{a59}bc"), &format!("{a59}…")),
        (
            "LISTING-3: cut before a word",
            "Creates an issue in a project with title, description and labels.",
            "Creates an issue in a project with title, description and…",
        ),
        (
            "LISTING-3: a word that ends at the limit stays",
            "Creates an issue in a project with title, body and priority and labels.",
            "Creates an issue in a project with title, body and priority…",
        ),
        (
            "LISTING-3: cut between ideographs",
            &format!("GET {}", "検".repeat(80)),
            &format!("GET {}…", "検".repeat(55)),
        ),
    ];
    for (rule, description, expected) in cases {
        assert_eq!(summary(description), expected, "{rule}");
    }
}

#[test]
fn listing_3_hostile_texts_end() {
    for text in [" ", "\n", "\u{200b}", "- ", "a", "a ", ".", "e.g. ", "。", ")", "a\u{301}"] {
        let summary = summary(&text.repeat(1_000_000));
        assert!(summary.chars().count() <= SUMMARY_LIMIT, "{text:?}");
    }
}

#[test]
fn lines_and_blocks() {
    let block = |label, tools: &[(&str, &str)]| Block::new(label, tools.iter().copied()).text(Detail::Full);
    let cases = [
        ("LISTING-3: name and text", block("s", &[("a", "Reads.")]), "s (1 tools):\n- a: Reads."),
        ("LISTING-3: name alone", block("s", &[("a", "\u{200b}")]), "s (1 tools):\n- a"),
        (
            "LISTING-2: by name, bytewise",
            block("s", &[("b", ""), ("a_b", "x"), ("B", ""), ("a", "y"), ("a-b", "")]),
            "s (5 tools):\n- B\n- a: y\n- a-b\n- a_b: x\n- b",
        ),
        ("LISTING-3: a name is one line", block("s", &[("a\n- b", "")]), "s (1 tools):\n- a - b"),
        ("LISTING-3: a label is one line", block("s\r\n- b\u{202e}", &[("a", "")]), "s - b (1 tools):\n- a"),
        ("LISTING-3: a label is no tool's line", block("\u{200b}- - b: c", &[("a", "")]), "b: c (1 tools):\n- a"),
        ("LISTING-3: what cannot be seen is marked", block("-", &[("\u{200b}", "")]), "? (1 tools):\n- ?"),
    ];
    for (rule, text, expected) in cases {
        assert_eq!(text, expected, "{rule}");
    }
    let block = Block::new("s", [("b", "Writes."), ("a", "")]);
    assert_eq!(block.text(Detail::Names), "s (2 tools):\n- a\n- b", "LISTING-4: names");
    assert_eq!(block.text(Detail::Collapsed), "s (2 tools)", "LISTING-3: collapsed");
}

/// A server whose tools `t0…` all have the same description.
fn server(label: &str, tools: usize, description: &str) -> Block {
    let names: Vec<String> = (0..tools).map(|i| format!("t{i}")).collect();
    Block::new(label, names.iter().map(|name| (name.as_str(), description)))
}

/// The form, and what is shown of each server: `F`, `N` or `C` for its detail, `L` for its label alone, `-` for nothing.
fn shown(blocks: &[Block], budget: u64) -> (Form, String) {
    let listing = fit(blocks, budget);
    let heads: Vec<&str> = listing.text.lines().filter(|line| !line.starts_with("- ")).collect();
    let details = blocks.iter().map(|block| {
        let full = block.text(Detail::Full);
        let names = block.text(Detail::Names);
        if listing.text.contains(&full) {
            'F'
        } else if listing.text.contains(&names) {
            'N'
        } else if heads.iter().any(|head| *head == block.text(Detail::Collapsed)) {
            'C'
        } else if heads.contains(&block.label()) {
            'L'
        } else {
            '-'
        }
    });
    (listing.form, details.collect())
}

#[test]
fn degradation() {
    let cost = |parts: &[(&Block, Detail)]| {
        let text: Vec<String> = parts.iter().map(|(block, detail)| block.text(*detail)).collect();
        estimate(&text.join("\n"))
    };
    use Detail::{Collapsed as C, Full as F, Names as N};
    let small = server("small", 3, "Reads it.");
    let mid = server("mid", 10, "Reads or writes it.");
    let big = server("big", 80, "Reads, writes or removes it.");
    // Fewer tools with longer lines: the largest full block but the smallest names-only one.
    let wordy = server("wordy", 60, &"word ".repeat(20));
    let all = [big.clone(), mid.clone(), small.clone()];
    let pair = [big.clone(), wordy.clone()];
    let four = [("alpha-alpha", 1), ("beta-beta", 9), ("gamma-gamma", 5), ("zeta-zeta", 2)];
    let four = four.map(|(label, tools)| server(label, tools, "Reads."));
    let twins = [server("first-of-twins", 9, "Reads."), server("other-of-twins", 9, "Reads.")];
    // Six tokens both, though not of the same length.
    let close = [server("a", 1, "Read"), server("b", 1, "Reads")];

    let cases: Vec<(&str, &[Block], u64, Form, &str)> = vec![
        ("LISTING-4: full", &all, cost(&[(&big, F), (&mid, F), (&small, F)]), Form::Full, "FFF"),
        (
            "LISTING-5: the longest loses its texts",
            &all,
            cost(&[(&big, N), (&mid, F), (&small, F)]),
            Form::Names,
            "NFF",
        ),
        ("LISTING-5: then the next", &all, cost(&[(&big, N), (&mid, N), (&small, F)]), Form::Names, "NNF"),
        ("LISTING-4: names", &all, cost(&[(&big, N), (&mid, N), (&small, N)]), Form::Names, "NNN"),
        (
            "LISTING-5: the largest collapses, and what it frees goes to the smallest first",
            &all,
            cost(&[(&big, N), (&mid, N), (&small, N)]) - 1,
            Form::Mixed,
            "CFF",
        ),
        ("LISTING-4: mixed", &all, cost(&[(&big, C), (&mid, F), (&small, F)]), Form::Mixed, "CFF"),
        ("LISTING-5: one less", &all, cost(&[(&big, C), (&mid, F), (&small, F)]) - 1, Form::Mixed, "CNF"),
        ("LISTING-5: two collapse", &all, cost(&[(&big, C), (&mid, C), (&small, F)]), Form::Mixed, "CCF"),
        ("LISTING-5: one without texts", &all, cost(&[(&big, C), (&mid, C), (&small, N)]), Form::Mixed, "CCN"),
        ("LISTING-4: groups", &all, cost(&[(&big, C), (&mid, C), (&small, C)]), Form::Groups, "CCC"),
        ("LISTING-5: labels alone", &all, estimate("big\nmid\nsmall"), Form::Groups, "LLL"),
        (
            "LISTING-5: labels with most tools first",
            &four,
            estimate("beta-beta\ngamma-gamma\nand 2 more"),
            Form::Groups,
            "-LL-",
        ),
        ("LISTING-5: a label without a count", &all, estimate("big"), Form::Groups, "L--"),
        ("LISTING-4: none", &all, 0, Form::None, "---"),
        ("LISTING-4: no server", &[], 4000, Form::None, ""),
        (
            "LISTING-5: full size rules the texts, names-only size the collapse",
            &pair,
            cost(&[(&big, C), (&wordy, N)]),
            Form::Mixed,
            "CN",
        ),
        ("LISTING-5: full size rules the texts", &pair, cost(&[(&big, F), (&wordy, N)]), Form::Names, "FN"),
        ("LISTING-5: ties by label, texts", &twins, cost(&[(&twins[0], N), (&twins[1], F)]), Form::Names, "NF"),
        ("LISTING-5: a tie is one of tokens", &close, cost(&[(&close[0], N), (&close[1], F)]), Form::Names, "NF"),
        ("LISTING-5: ties by label, collapse", &twins, cost(&[(&twins[0], C), (&twins[1], N)]), Form::Mixed, "CN"),
        ("LISTING-5: ties by label, labels", &twins, estimate("first-of-twins\nand 1 more"), Form::Groups, "L-"),
        ("LISTING-5: ties by label, one label", &twins, estimate("first-of-twins"), Form::Groups, "L-"),
    ];
    for (rule, blocks, budget, form, expected) in cases {
        assert_eq!(shown(blocks, budget), (form, expected.to_owned()), "{rule}: {}", fit(blocks, budget).text);
    }
}

#[test]
fn listing_5_texts_come_back_to_the_smallest_first() {
    // `b` is dropped for `c`'s sake although it is not needed in the end: `c` alone costs more than both.
    let blocks = [server("a", 2, "Reads it."), server("b", 30, "Reads it."), server("c", 400, "Reads it.")];
    let budget = blocks[2].size(Detail::Names).tokens() - 1;
    assert_eq!(shown(&blocks, budget), (Form::Mixed, "FFC".to_owned()));
}

#[test]
fn listing_5_a_huge_label_hides_no_other() {
    let blocks = [server(&"x".repeat(5000), 50, ""), server("gamma", 2, ""), server("beta", 7, "")];
    let listing = fit(&blocks, 6);
    assert_eq!(listing.text, "beta\ngamma\nand 1 more");
}

#[test]
fn listing_5_hundreds_of_servers() {
    let blocks: Vec<Block> = (0..800).map(|i| server(&format!("server-{i:03}"), 1 + i % 7, "Reads it.")).collect();
    let listing = fit(&blocks, 4000);
    assert_eq!((listing.form, listing.text.lines().count()), (Form::Groups, 800));
    assert!(!listing.text.contains("tools"), "labels alone");
    let listing = fit(&blocks, 200);
    let lines: Vec<&str> = listing.text.lines().collect();
    assert_eq!((lines.first(), lines.last()), (Some(&"server-006"), Some(&"and 729 more")));
}

/// Tools as an API generator names them: about `name` characters a name, 90 a description.
fn api(label: &str, tools: usize, name: usize) -> Block {
    let tools: Vec<(String, String)> = (0..tools)
        .map(|i| {
            let name = format!("{:a<name$}", format!("mcp__{label}__operation_{i}_"));
            (name, format!("Operation {i} of the interface changes one object of its kind. It answers that object."))
        })
        .collect();
    Block::new(label, tools.iter().map(|(name, text)| (name.as_str(), text.as_str())))
}

#[test]
fn known_answers() {
    let (linear, unreal, cloudflare) = (api("linear", 24, 28), api("unreal", 830, 36), api("cloudflare", 3320, 40));
    let cases: [(&str, &[&Block], u64, Form, usize); 6] = [
        ("24 tools", &[&linear], 4000, Form::Full, 24),
        ("830 tools", &[&unreal], 4000, Form::Groups, 0),
        ("830 tools, listing_max_tokens 20000", &[&unreal], 20_000, Form::Names, 830),
        ("3,320 tools", &[&cloudflare], 4000, Form::Groups, 0),
        ("3,320 tools, listing_max_tokens 20000", &[&cloudflare], 20_000, Form::Groups, 0),
        ("24 and 3,320 tools", &[&cloudflare, &linear], 4000, Form::Mixed, 24),
    ];
    for (rule, blocks, budget, form, named) in cases {
        let listing = fit(blocks.iter().copied(), budget);
        assert_eq!((listing.form, listing.named_tools), (form, named), "{rule}");
    }
    let mixed = fit([&cloudflare, &linear], 4000).text;
    assert_eq!(mixed, format!("cloudflare (3320 tools)\n{}", linear.text(Detail::Full)), "Linear keeps its texts");
}

#[derive(serde::Deserialize)]
struct Registry {
    sources: Vec<Source>,
}

#[derive(serde::Deserialize)]
struct Source {
    name: String,
    tools: Vec<Tool>,
}

#[derive(serde::Deserialize)]
struct Tool {
    name: String,
    description: Option<String>,
}

#[test]
fn real_catalogs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/registries");
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    for file in files {
        let path = file.expect("a file").path();
        let registry: Registry = serde_json::from_slice(&std::fs::read(&path).expect("readable")).expect("a registry");
        let blocks: Vec<Block> = registry
            .sources
            .iter()
            .map(|source| {
                let tools = source.tools.iter();
                Block::new(&source.name, tools.map(|t| (t.name.as_str(), t.description.as_deref().unwrap_or(""))))
            })
            .collect();
        for budget in [50, 200, 1000, 4000, 20_000, 60_000] {
            let listing = check(&blocks, budget);
            eprintln!("{}: {budget}: {:?}, {} named", path.display(), listing.form, listing.named_tools);
        }
    }
}

/// Holds every promise of a listing and gives it back.
fn check(blocks: &[Block], budget: u64) -> Listing {
    let listing = fit(blocks, budget);
    assert_eq!(Quarters::of(&listing.text), listing.size, "the size is that of the text");
    assert!(listing.size.tokens() <= budget, "{} > {budget}", listing.size.tokens());
    assert_eq!(listing, fit(blocks.iter().rev(), budget), "order of arrival shows");

    let lines: Vec<&str> = listing.text.lines().collect();
    let named = lines.iter().filter(|line| line.starts_with("- ")).count();
    assert_eq!(named, listing.named_tools);
    let all: usize = blocks.iter().map(Block::tools).sum();
    let mut with_tools = blocks.iter().filter(|block| block.tools() > 0);
    let mut has = |detail| with_tools.any(|block| listing.text.contains(&block.text(detail)));
    match listing.form {
        Form::Full => assert!(named == all && with_tools.all(|b| listing.text.contains(&b.text(Detail::Full)))),
        Form::Names => assert!(named == all && has(Detail::Names)),
        Form::Mixed => assert!(0 < named && named < all && has(Detail::Collapsed)),
        Form::Groups => assert!(named == 0 && !lines.is_empty()),
        Form::None => {
            // LISTING-5: never an empty listing while a label fits.
            assert!(listing.text.is_empty() && with_tools.all(|block| estimate(block.label()) > budget));
        }
    }
    if matches!(listing.form, Form::Full | Form::Names | Form::Mixed) {
        // No tool is lost: it is named, or counted in the line of its server.
        let counted = |line: &&str| line.strip_suffix(" tools)")?.rsplit_once('(')?.1.parse::<usize>().ok();
        assert_eq!(all, named + lines.iter().filter_map(counted).sum::<usize>());
    }
    if let Some(more) = lines.last().and_then(|line| line.strip_prefix("and ")?.strip_suffix(" more")) {
        let servers = blocks.iter().filter(|block| block.tools() > 0).count();
        assert_eq!(servers, lines.len() - 1 + more.parse::<usize>().expect("a number"));
    }
    listing
}

fn servers() -> impl Strategy<Value = Vec<Block>> {
    let tool = ("[a-z_]{1,12}", prop_oneof!["", "[A-Za-z .,]{0,90}", "\\PC{0,40}", any::<String>()]);
    let server = proptest::collection::vec(tool, 0..12);
    proptest::collection::btree_map("[a-z検-]{1,9}", server, 0..9).prop_map(|servers| {
        let tools = |tools: &'_ [(String, String)]| -> Vec<Arc<Line>> {
            tools.iter().map(|(name, text)| Arc::new(Line::new(name, text))).collect()
        };
        servers.iter().map(|(label, list)| Block::of_lines(label, tools(list))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn listings_hold_their_promises(blocks in servers(), budget in prop_oneof![0u64..40, 0u64..700]) {
        let listing = check(&blocks, budget);
        let wider = check(&blocks, budget + 1);
        prop_assert!(wider.named_tools >= listing.named_tools, "more budget names fewer");
    }

    #[test]
    fn listing_3_a_summary_is_one_visible_line(text in any::<String>()) {
        let short = summary(&text);
        prop_assert!(short.chars().count() <= SUMMARY_LIMIT);
        let hidden = |c: char| c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c);
        prop_assert!(!short.contains(hidden));
        prop_assert!(!short.contains("  ") && short.trim() == short);
        prop_assert_eq!(summary(&short), short);
    }

    #[test]
    fn listing_2_order_of_tools_does_not_show(
        tools in proptest::collection::vec(("\\PC{0,6}", "\\PC{0,9}"), 0..9).prop_shuffle(),
    ) {
        let pairs = |tools: &[(String, String)]| Block::new("s", tools.iter().map(|(n, d)| (n.as_str(), d.as_str())));
        let mut sorted = tools.clone();
        sorted.sort();
        prop_assert_eq!(pairs(&tools), pairs(&sorted));
    }
}
