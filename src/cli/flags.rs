//! Flags and subcommands.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use crate::server::session::Options;
use crate::share::address::Address;
use crate::workspace::snapshot::Places;

/// Tool search for LLM agents: what a model sees of a large tool catalog.
#[derive(Debug, Parser)]
#[command(name = "toolscout", version, about, after_help = "New here? `toolscout demo` shows it at work.")]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Where configuration and registries are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Files")]
pub struct Common {
    /// Configuration file, over those of user and workspace
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Registry file, or folder of such; may be repeated
    #[arg(long, global = true, value_name = "PATH")]
    pub registry: Vec<PathBuf>,
    /// File of MCP servers as editors write them, `{"mcpServers": {…}}`; may be repeated
    #[arg(long, global = true, value_name = "FILE")]
    pub mcp_config: Vec<PathBuf>,
    /// Folder whose .toolscout is read [default: what the host says, else the working directory]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub workspace: Option<PathBuf>,
    /// Let what the workspace's own settings say of core tools, servers and gateway take effect
    #[arg(long, global = true)]
    pub trust_workspace: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a host over standard input and output (the default), or many on a socket
    Serve(Serve),
    /// Serve MCP clients such as Claude Code, Cursor, VS Code and Zed over standard input and output, or HTTP
    Mcp(Mcp),
    /// Search the deferred tools, as a model does with tool_search
    Search(Search),
    /// Show the tools array of a turn and what it costs
    Assemble(Assemble),
    /// Show description and parameters of tools, as tool_describe gives them
    Describe(Describe),
    /// Show why a query finds what it finds
    Explain(Search),
    /// Measure how well labelled queries find the tools they want, and what the tools cost
    Eval(Eval),
    /// Look for mistakes in configuration and registries, and for tools that are hard to find or dear
    Check(Check),
    /// Show sources, the files they come from, whether search works, and shared sidecars that run
    Status(Output),
    /// Start the configured MCP servers and show what became of each; exit code 1 if one does not run
    McpList(Output),
    /// See, install and switch MCP servers that are known
    #[command(subcommand)]
    Servers(Servers),
    /// Sign in to a connector gateway, with a token from standard input or a prompt
    Login(Login),
    /// Forget the token of a connector gateway, or of all
    Logout(Login),
    /// End the shared sidecars of a workspace
    Stop(Stop),
    /// Watch a host and the sidecar at work on a sample catalog
    Demo(Output),
    /// Be the process that holds an MCP server, as the sidecar starts it
    #[command(name = crate::servers::launch::SUBCOMMAND, hide = true)]
    BecomeServer {
        /// Process id of the sidecar
        sidecar: u32,
        /// The program and its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete in
        shell: clap_complete::Shell,
    },
}

/// How a sidecar is reached.
#[derive(Debug, Default, Args)]
pub struct Serve {
    /// Share one sidecar with all who serve the same workspace with the same flags; it is started on demand
    #[arg(long, conflicts_with = "listen")]
    pub shared: bool,
    /// Listen on unix:PATH or ws://127.0.0.1:PORT (port 0: any) instead of standard input
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<Address>,
    /// Let web pages of this origin connect to the WebSocket; may be repeated
    #[arg(long, value_name = "ORIGIN", requires = "listen")]
    pub allow_origin: Vec<String>,
    /// End a shared or listening sidecar this long after its last connection [default: 60 if shared, else never]
    #[arg(long, value_name = "SECONDS")]
    pub idle_exit: Option<u32>,
    /// Be the process behind `--shared`, as a relay starts it
    #[arg(long, hide = true, conflicts_with_all = ["shared", "listen"])]
    pub daemon: bool,
}

impl Serve {
    /// Whether the process serves more than the one host that started it.
    pub fn is_for_many(&self) -> bool {
        self.shared || self.daemon || self.listen.is_some()
    }
}

/// What MCP clients are shown, and how they come here.
#[derive(Debug, Args)]
pub struct Mcp {
    /// Serve Streamable HTTP on 127.0.0.1:PORT (port 0: any) instead of standard input
    #[arg(long, value_name = "ADDRESS", value_parser = super::mcp::loopback)]
    pub http: Option<SocketAddr>,
    /// Use the sidecar that all who serve the same workspace with the same flags share
    #[arg(long)]
    pub shared: bool,
    /// Context length of the model, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub context_length: u64,
    /// Grant these toolsets and no others, a comma between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Scope")]
    pub toolsets: Vec<String>,
    #[command(flatten)]
    pub scope: Scope,
}

impl Mcp {
    /// The scope on the wire; null where no flag was given.
    pub fn scope(&self) -> Value {
        let toolset = self.scope.toolset.iter().chain(&self.toolsets).cloned().collect();
        Scope { toolset, ..self.scope.clone() }.wire()
    }
}

#[derive(Debug, Args)]
pub struct Stop {
    /// End all shared sidecars of this user
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Output {
    /// Print the sidecar's answer as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words to look for; together they are one query
    #[arg(required = true)]
    pub query: Vec<String>,
    /// Most matches
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub scope: Scope,
}

impl Search {
    /// The words as one query.
    pub fn query(&self) -> String {
        self.query.join(" ")
    }

    /// Whether there is anything to look for, said as to a person.
    ///
    /// # Errors
    /// There is not.
    pub fn not_blank(&self) -> Result<(), Failure> {
        match self.query().trim() {
            "" => {
                Err(Failure::Other("there is nothing to look for: name a few words of what is to be done".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Args)]
pub struct Check {
    /// The least that makes the exit code 1
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub output: Output,
}

/// What `check` fails on.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Advice,
    Never,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Labelled queries: a line each, {"query": "…", "relevant": ["source/tool"]}; none relevant: nothing should be found
    #[arg(long, value_name = "FILE")]
    pub queries: PathBuf,
    /// Fail if anything is worse than in this file, which an earlier `eval --json` wrote
    #[arg(long, value_name = "BASELINE")]
    pub compare: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Args)]
pub struct Assemble {
    /// Context length of the model, in tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub context: Option<u64>,
    /// Format of the tools array
    #[arg(long, value_enum, default_value_t = Format::Openai)]
    pub format: Format,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub scope: Scope,
}

/// Formats of the tools array, as the wire names them.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    Openai,
    OpenaiResponses,
    Anthropic,
    Mcp,
}

impl Format {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Mcp => "mcp",
        }
    }
}

#[derive(Debug, Args)]
pub struct Describe {
    /// Names of tools, with or without their server's part
    #[arg(required = true)]
    pub name: Vec<String>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub scope: Scope,
}

/// What the session is granted. Names or globs.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Scope")]
pub struct Scope {
    /// Grant this toolset and no other; may be repeated
    #[arg(long, value_name = "NAME")]
    pub toolset: Vec<String>,
    /// Deny this toolset; may be repeated
    #[arg(long, value_name = "NAME")]
    pub without_toolset: Vec<String>,
    /// Grant these tools and no others; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub allow: Vec<String>,
    /// Deny these tools; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub deny: Vec<String>,
}

impl Scope {
    /// The scope on the wire; null where no flag was given.
    pub fn wire(&self) -> Value {
        let pair = |granted: (&str, &[String]), denied: (&str, &[String])| {
            let given = [granted, denied].into_iter().filter(|(_, names)| !names.is_empty());
            given.map(|(key, names)| (key.to_owned(), json!(names))).collect::<Map<_, _>>()
        };
        let toolsets = pair(("enabled", &self.toolset), ("disabled", &self.without_toolset));
        let tools = pair(("allow", &self.allow), ("deny", &self.deny));
        if toolsets.is_empty() && tools.is_empty() {
            return Value::Null;
        }
        json!({ "toolsets": toolsets, "tools": tools })
    }
}

/// Which gateway it is about.
#[derive(Debug, Args)]
pub struct Login {
    /// The gateway's origin [default: to sign in, tools.connectors.gateway_url, else the one signed in to before; to sign out, all]
    #[arg(long, value_name = "URL")]
    pub gateway: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

/// What is done with MCP servers.
#[derive(Debug, Subcommand)]
pub enum Servers {
    /// Show the servers that are known, and which are installed
    List(Output),
    /// Write a server's entry beside the user's configuration
    Install {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Switch on a server that was installed so
    Enable {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Switch off a server that was installed so
    Disable {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Remove a server that was installed so, and what was granted for it
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        output: Output,
    },
    /// Sign in to a server over HTTP by OAuth: prints a link and waits until you have followed it
    Authorize(Authorize),
}

#[derive(Debug, Args)]
pub struct Authorize {
    /// Its name
    pub name: String,
    /// Forget what was granted for it instead
    #[arg(long, conflicts_with = "force")]
    pub forget: bool,
    /// Sign in anew even where it answers
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output: Output,
}

impl Servers {
    /// How the answer is printed.
    pub fn output(&self) -> &Output {
        match self {
            Self::List(output)
            | Self::Install { output, .. }
            | Self::Enable { output, .. }
            | Self::Disable { output, .. }
            | Self::Remove { output, .. } => output,
            Self::Authorize(args) => &args.output,
        }
    }
}

impl Command {
    /// Whether what is printed is for a program.
    pub fn is_json(&self) -> bool {
        match self {
            Self::Serve(_) | Self::Mcp(_) | Self::Completions { .. } | Self::BecomeServer { .. } => false,
            Self::Search(args) | Self::Explain(args) => args.output.json,
            Self::Eval(args) => args.output.json,
            Self::Assemble(args) => args.output.json,
            Self::Describe(args) => args.output.json,
            Self::Stop(args) => args.output.json,
            Self::Check(args) => args.output.json,
            Self::Login(args) | Self::Logout(args) => args.output.json,
            Self::Servers(command) => command.output().json,
            Self::Status(output) | Self::McpList(output) | Self::Demo(output) => output.json,
        }
    }
}

impl Common {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        let named = self.config.is_some() || !self.registry.is_empty() || !self.mcp_config.is_empty();
        named || self.workspace.is_some() || self.trust_workspace
    }

    /// The flags as arguments of another process, whose workspace is `workspace` whatever `--workspace` says.
    pub fn arguments(&self, workspace: Option<&Path>) -> Vec<OsString> {
        // Named one by one, so that none that is added is forgotten here.
        let Self { config, registry, mcp_config, workspace: _, trust_workspace } = self;
        let flag = |name: &str, path: &Path| {
            // One argument, so that no path is taken for a flag.
            let mut argument = OsString::from(format!("--{name}="));
            argument.push(std::path::absolute(path).as_deref().unwrap_or(path));
            argument
        };
        let config = config.iter().map(|path| flag("config", path));
        let registry = registry.iter().map(|path| flag("registry", path));
        let mcp_config = mcp_config.iter().map(|path| flag("mcp-config", path));
        let workspace = workspace.map(|path| flag("workspace", path));
        let trust = trust_workspace.then(|| OsString::from("--trust-workspace"));
        config.chain(registry).chain(mcp_config).chain(workspace).chain(trust).collect()
    }

    /// The flags, made absolute where the working directory matters.
    pub fn options(&self) -> Options {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification has relative paths ignored.
        let user = home("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let user = user.or_else(|| home("HOME").map(|home| home.join(".config")));
        let cache = home("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let cache = cache.or_else(|| home("HOME").map(|home| home.join(".cache")));
        Options {
            places: Places {
                user: user.map(|folder| folder.join("toolscout")),
                workspace: self.workspace.as_ref().map(absolute),
                config: self.config.as_ref().map(absolute),
                registry: self.registry.iter().map(absolute).collect(),
                mcp_config: self.mcp_config.iter().map(absolute).collect(),
            },
            working_directory: std::env::current_dir().ok(),
            trust_workspace: self.trust_workspace,
            // What is no UTF-8 cannot be named in a file.
            environment: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            cache: cache.map(|folder| folder.join("toolscout")),
            without_servers: false,
            launcher: own_program(),
            ..Options::default()
        }
    }
}

/// This program, even if its file was replaced meanwhile.
fn own_program() -> Option<PathBuf> {
    if cfg!(target_os = "linux") { Some(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe().ok() }
}

/// Folders in which a registry file is found without a flag, the nearest last.
pub fn registry_folders(options: &Options) -> Vec<PathBuf> {
    let workspace = options.places.workspace.as_deref().or(options.working_directory.as_deref());
    let workspace = workspace.map(|root| root.join(".toolscout"));
    let user = options.places.user.as_deref().map(Path::to_owned);
    [user, workspace].into_iter().flatten().map(|folder| folder.join("registry")).collect()
}
