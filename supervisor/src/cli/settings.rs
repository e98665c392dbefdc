//! `outcallctl config show`: what outcalld would run with, and where each value comes from.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::arguments::host::ConfigCommand;
use super::table::table;
use crate::config::{KEYS, Layer, Layers};

/// A key, its value, and who says so.
struct Setting {
    key: &'static str,
    value: Value,
    origin: String,
}

pub(super) fn config(command: ConfigCommand) -> anyhow::Result<()> {
    let ConfigCommand::Show { origin, json, daemon } = command;
    let file = daemon.config.clone();
    let layers = Layers::gather(daemon.layer(), file.as_deref())?;
    let settings = settings(&layers)?;
    if json {
        println!("{}", document(&settings, origin));
    } else {
        print!("{}", sheet(&settings, origin));
    }
    // What is shown may still be wrong.
    layers.flags.or(layers.environment).or(layers.file).into_config()?;
    Ok(())
}

fn settings(layers: &Layers) -> anyhow::Result<Vec<Setting>> {
    let values = |layer: &Layer| -> anyhow::Result<Map<String, Value>> {
        Ok(serde_json::to_value(layer)?.as_object().cloned().unwrap_or_default())
    };
    let text = match &layers.path {
        Some(path) => std::fs::read_to_string(path)?,
        None => String::new(),
    };
    let flags = values(&layers.flags)?;
    let (environment, file) = (values(&layers.environment)?, values(&layers.file)?);
    let defaults = values(&Layer::defaults())?;
    let find = |key: &'static str| {
        let has = |layer: &Map<String, Value>| layer.get(key).is_some_and(|value| !value.is_null());
        let (layer, origin) = if has(&flags) {
            (&flags, format!("flag --{}", key.replace('_', "-")))
        } else if has(&environment) {
            (&environment, format!("environment {}", variable(key)))
        } else if has(&file) {
            (&file, place(key, &text, layers.path.as_deref()))
        } else {
            (&defaults, "default".to_owned())
        };
        Setting { key, value: layer.get(key).cloned().unwrap_or_default(), origin }
    };
    Ok(KEYS.iter().copied().map(find).collect())
}

/// The variable of a key.
fn variable(key: &str) -> String {
    let path = if key.ends_with("_socket") { "_PATH" } else { "" };
    format!("OUTCALL_{}{path}", key.to_uppercase())
}

/// The file and the line that sets a key.
fn place(key: &str, text: &str, path: Option<&Path>) -> String {
    let path = path.unwrap_or(Path::new("?")).display();
    let table = toml::de::DeTable::parse(text).ok();
    let start = table.and_then(|table| {
        let found = table.get_ref().iter().find(|(name, _)| name.get_ref().as_ref() == key);
        found.map(|(name, _)| name.span().start)
    });
    match start.and_then(|start| text.get(..start)) {
        Some(before) => format!("{path}:{}", before.matches('\n').count() + 1),
        None => path.to_string(),
    }
}

fn document(settings: &[Setting], origin: bool) -> Value {
    let each = settings.iter().map(|Setting { key, value, origin: from }| {
        let mut document = json!({ "key": key, "value": value });
        if origin {
            document["origin"] = from.as_str().into();
        }
        document
    });
    each.collect()
}

fn sheet(settings: &[Setting], origin: bool) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if origin {
        let row = |s: &Setting| [s.key.to_owned(), value(&s.value), s.origin.clone()];
        table(["KEY", "VALUE", "ORIGIN"], &settings.iter().map(row).collect::<Vec<_>>())
    } else {
        let row = |s: &Setting| [s.key.to_owned(), value(&s.value)];
        table(["KEY", "VALUE"], &settings.iter().map(row).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_value_and_an_origin() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("o.toml");
        std::fs::write(&path, "# why\nlog = '/file'\n\n\"mode\" = 'observe'\n").unwrap();
        let flags = Layer { profile: Some("observe".to_owned()), ..Layer::default() };
        let layers = Layers::gather(flags, Some(&path)).unwrap();
        let settings = settings(&layers).unwrap();
        assert_eq!(settings.len(), KEYS.len());
        let of = |key: &str| settings.iter().find(|setting| setting.key == key).unwrap();
        assert_eq!(of("log").origin, format!("{}:2", path.display()));
        assert_eq!(of("mode").origin, format!("{}:4", path.display()));
        assert_eq!(
            (of("profile").origin.as_str(), &of("log").value),
            ("flag --profile", &json!("/file"))
        );
        assert!(settings.iter().all(|setting| !setting.value.is_null()), "a key has no default");
        assert_eq!(variable("host_socket"), "OUTCALL_HOST_SOCKET_PATH");
        assert_eq!(variable("host_socket_mode"), "OUTCALL_HOST_SOCKET_MODE");
    }
}
