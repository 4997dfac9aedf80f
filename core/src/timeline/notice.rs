//! What a system notice (kind 40099) says, as a sentence. Its content is the relay's JSON; an unknown sort is named by its type, and what is
//! no such JSON is shown as it is.

use serde_json::Value;

use crate::ids::PublicKey;

/// A notice in words. `name` knows people.
pub(super) fn sentence(content: &str, name: &dyn Fn(&PublicKey) -> Option<String>) -> String {
    let Ok(body) = serde_json::from_str::<Value>(content) else { return content.to_owned() };
    let text = |field: &str| body.get(field).and_then(Value::as_str);
    let who = |field| person(&body, field).and_then(|key| name(&key)).unwrap_or_else(|| "Someone".to_owned());
    match text("type") {
        Some("topic_changed") => format!("{} set the topic: {}", who("actor"), text("topic").unwrap_or_default()),
        Some("purpose_changed") => format!("{} set the purpose: {}", who("actor"), text("purpose").unwrap_or_default()),
        Some("member_joined") if text("actor") == text("target") => format!("{} joined", who("target")),
        Some("member_joined") => format!("{} added {}", who("actor"), who("target")),
        Some("member_left") => format!("{} left", who("actor")),
        Some("member_removed") => format!("{} removed {}", who("actor"), who("target")),
        Some("message_deleted") => format!("{} deleted a message", who("actor")),
        Some("channel_created") => format!("{} created this channel", who("actor")),
        Some(other) => other.replace('_', " "),
        None => content.to_owned(),
    }
}

/// People the sentence may name.
pub(super) fn people(content: &str) -> Vec<PublicKey> {
    let Ok(body) = serde_json::from_str::<Value>(content) else { return Vec::new() };
    ["actor", "target"].into_iter().filter_map(|field| person(&body, field)).collect()
}

fn person(body: &Value, field: &str) -> Option<PublicKey> {
    PublicKey::parse(body.get(field)?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_sentences() {
        let (mara, other) = (PublicKey([1; 32]), PublicKey([2; 32]));
        let name = |k: &PublicKey| (*k == mara).then(|| "Mara".to_owned());
        let body = |rest: &str| format!(r#"{{"actor":"{}",{rest}}}"#, mara.to_hex());
        let about =
            |sort: &str, target: &PublicKey| body(&format!(r#""type":"{sort}","target":"{}""#, target.to_hex()));
        for (content, words) in [
            (body(r#""type":"topic_changed","topic":"Lime flow""#), "Mara set the topic: Lime flow"),
            (body(r#""type":"purpose_changed""#), "Mara set the purpose: "),
            (about("member_joined", &other), "Mara added Someone"),
            (about("member_joined", &mara), "Mara joined"),
            (about("member_removed", &other), "Mara removed Someone"),
            (body(r#""type":"member_left""#), "Mara left"),
            (body(r#""type":"message_deleted""#), "Mara deleted a message"),
            (body(r#""type":"channel_created""#), "Mara created this channel"),
            (body(r#""type":"huddle_ended""#), "huddle ended"),
            (r#"{"type":"member_left","actor":7}"#.to_owned(), "Someone left"),
            ("plain words".to_owned(), "plain words"),
            ("{}".to_owned(), "{}"),
        ] {
            assert_eq!(sentence(&content, &name), words);
        }
        assert_eq!(people(&about("member_joined", &other)), [mara, other]);
        assert!(people("plain words").is_empty() && people(r#"{"actor":"x"}"#).is_empty());
    }
}
