use super::*;

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let error = parse(Path::new("o.toml"), "agent_sokcet = '/x'").unwrap_err();
    let expected = "o.toml: unknown key 'agent_sokcet'; did you mean 'agent_socket'?";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn flags_win_over_the_file() {
    let file = parse(Path::new("o.toml"), "mode = 'observe'\nlog = '/file'").unwrap();
    let flags = Layer { log: Some("/flag".into()), ..Layer::default() };
    let config = flags.or(file).into_config().unwrap();
    assert_eq!((config.log, config.mode), ("/flag".into(), Mode::Observe));
}

#[test]
fn a_mode_must_be_octal() {
    let layer = Layer { agent_socket_mode: Some("rw".into()), ..Layer::default() };
    assert!(layer.into_config().unwrap_err().to_string().contains("octal"));
}

#[test]
fn operators_are_numbers() {
    let file = parse(Path::new("o.toml"), "operator_uids = [7]\noperator_gids = [8, 9]").unwrap();
    let config = file.into_config().unwrap();
    assert_eq!((config.operator_uids, config.operator_gids), (vec![7], vec![8, 9]));
    assert_eq!(ids("X", "1000, 7,").unwrap(), [1000, 7]);
    assert!(
        ids("X", "staff").unwrap_err().to_string().contains("X: 'staff' is not a user or group")
    );
}

#[test]
fn the_defaults_that_are_shown_are_those_that_count() {
    let shown = Layer::defaults().into_config().unwrap();
    assert_eq!(shown, Layer::default().into_config().unwrap());
    let layer = serde_json::to_value(Layer::defaults()).unwrap();
    let keys: Vec<&str> = layer.as_object().unwrap().keys().map(String::as_str).collect();
    let mut known = KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known);
}

#[test]
fn limits_have_defaults_and_nearest_names() {
    let text = "host_sessions = true\n[limits]\nchecks = 7\n";
    let config = parse(Path::new("o.toml"), text).unwrap().into_config().unwrap();
    assert!(config.host_sessions);
    assert_eq!(config.limits, Limits { checks: 7, ..Limits::default() });
    assert_eq!((Limits::default().checks, Limits::default().body_bytes), (100, 65_536));
    let error = |text: &str| parse(Path::new("o.toml"), text).unwrap_err().to_string();
    let near = "o.toml: unknown key 'limits.check_secs'; did you mean 'check_seconds'?";
    assert_eq!(error("[limits]\ncheck_secs = 1"), near);
    assert!(error("[limits]\nlookups = 0").contains("limits.lookups is out of range"));
}
