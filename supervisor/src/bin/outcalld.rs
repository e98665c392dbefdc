//! The supervisor daemon.

fn main() -> std::process::ExitCode {
    supervisor::cli::daemon()
}
