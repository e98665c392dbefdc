//! What a file means, apart from its layout: the tree without places.

use super::shape::Shape;
use crate::error::Place;
use crate::yaml::{At, Key, Node, Value};

const NOWHERE: At = At { place: Place::START, start: 0 };

/// The meaning of a file, to compare it with that of another.
pub(super) fn meaning(root: &Node) -> Node {
    bare(root, Shape::File)
}

fn bare(node: &Node, shape: Shape) -> Node {
    let value = match &node.value {
        Value::List(items) => {
            Value::List(items.iter().map(|item| bare(item, shape.child(None))).collect())
        }
        Value::Map(entries) => {
            let mut entries: Vec<(Key, Node)> = entries
                .iter()
                .map(|(key, node)| {
                    let child = shape.child(Some(&key.text));
                    (Key { text: key.text.clone(), at: NOWHERE }, bare(node, child))
                })
                .collect();
            entries.sort_by_key(|(key, _)| shape.rank(Some(&key.text)));
            Value::Map(entries)
        }
        // These two pairs read alike.
        Value::Bool(value) if shape == Shape::Condition => Value::Str(value.to_string()),
        Value::Str(text) if shape == Shape::Action && text == "deny" => {
            Value::Str("block".to_owned())
        }
        other => other.clone(),
    };
    Node { value, at: NOWHERE }
}
