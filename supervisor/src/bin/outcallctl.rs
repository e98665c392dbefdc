//! The operator's command.

fn main() -> std::process::ExitCode {
    supervisor::cli::operator()
}
