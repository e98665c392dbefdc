//! What both fuzz targets do with a rule file: load it, and if it loads, ask it.

mod sys;

pub use sys::{Bounded, note_peak};

use policy::{ActionType, Engine, Facts, SourceFile, explain};

/// Loads one file and asks it a few questions. Nothing is compared: it must return, in bounds.
pub fn load_and_ask(text: String) {
    note_peak();
    let file = SourceFile { name: "fuzz.yaml".to_owned(), text };
    match Engine::load(&[file]) {
        Ok(engine) => {
            for facts in questions() {
                let _ = explain(&facts, &engine.decide(&facts));
            }
        }
        Err(errors) => drop(errors.to_string()),
    }
}

/// One question of each kind, with texts that are easy to get wrong.
fn questions() -> [Facts; 4] {
    let mut file = Facts { target: "/workspace/src/ünï/../a.rs".into(), ..Facts::default() };
    file.file.operation = "write".into();
    file.session.workspace = "/workspace".into();
    file.metadata.insert("k".into(), "v".into());

    let mut network = Facts { action_type: ActionType::NetworkCall, ..Facts::default() };
    network.target = "[::ffff:10.1.2.3]:443".into();
    network.network.ip = "::ffff:10.1.2.3%eth0".into();
    network.network.port = 443;
    network.network.hostname = "é.example.com.".into();

    let mut exec = Facts { action_type: ActionType::ShellExec, ..Facts::default() };
    exec.target = "/usr/bin/git".into();
    exec.exec.argv = vec!["git".into(), "push".into(), "--force".into(), String::new()];
    exec.run.tool = "git".into();
    exec.run.args = vec!["push".into(); 300];
    exec.run.flags = vec!["--force".into()];

    let tool = Facts { action_type: ActionType::ToolExec, ..Facts::default() };
    [file, network, exec, tool]
}
