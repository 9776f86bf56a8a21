//! `toolscout stop`: ends shared sidecars. They answer what they can, then end; their hosts' relays end with code 1.

use super::failure::Failure;
use super::flags::{Common, Stop};
use super::page::{Page, Style};
use super::report::Report;
use super::shared::Running;
use super::terminal::Terminal;

/// Runs the command. That none runs is no failure.
///
/// # Errors
/// One that does not end.
pub fn run(common: &Common, args: &Stop, terminal: Terminal) -> Result<Report, Failure> {
    let mut running = Running::all();
    let options = common.options();
    let workspace = options.places.workspace.or(options.working_directory);
    if !args.all {
        running.keep_workspace(workspace.as_deref());
    }
    running.stop()?;
    if args.output.json {
        return Ok(running.noted(Report::json(&running.json().to_string())));
    }
    let mut page = Page::new(terminal);
    if running.is_empty() {
        let of = match workspace.filter(|_| !args.all) {
            Some(workspace) => format!(" of {}", workspace.display()),
            None => String::new(),
        };
        page.line(&[(Style::Plain, &format!("No shared sidecar{of} runs."))]);
    } else {
        page.heading("Ended");
        running.show(&mut page);
    }
    Ok(running.noted(Report::page(page)))
}
