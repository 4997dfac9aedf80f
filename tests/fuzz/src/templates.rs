//! Events out of a fuzzer's hands: well signed, whatever they say.

use std::sync::LazyLock;

use waggle_scenarios::names::{Person, channel_id};

/// Who signs: the relay, the viewer, two others.
pub(crate) static PEOPLE: LazyLock<Vec<Person>> =
    LazyLock::new(|| ["relay", "me", "ada", "bo"].iter().filter_map(|name| Person::named(name).ok()).collect());

/// Most events of one input: signing is what costs.
const MOST: usize = 8;

type Template = (u8, u16, u64, Vec<Vec<String>>, String);

/// The events that a JSON array of templates describes; none for any other text. `$g` in tags and contents stands for a channel, `$0` … `$9`
/// for the id of an event before, `$p0` … `$p3` for a person's key, so that references are within a fuzzer's reach.
pub(crate) fn events(text: &str) -> Option<Vec<String>> {
    let templates: Vec<Template> = serde_json::from_str(text).ok()?;
    let mut made: Vec<(String, String)> = Vec::new();
    for (by, kind, at, tags, content) in templates.into_iter().take(MOST) {
        let fill = |text: &str| filled(text, &made);
        let tags = tags.iter().map(|tag| tag.iter().map(|t| fill(t)).collect()).collect();
        let author = PEOPLE.get(usize::from(by) % PEOPLE.len())?;
        let signed = author.sign(at, kind, tags, &fill(&content), None);
        made.push((signed.id, signed.json));
    }
    Some(made.into_iter().map(|(_, json)| json).collect())
}

fn filled(text: &str, made: &[(String, String)]) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    let mut out = text.replace("$g", &channel_id("general"));
    for (i, person) in PEOPLE.iter().enumerate() {
        out = out.replace(&format!("$p{i}"), &person.public());
    }
    for (i, (id, _)) in made.iter().enumerate() {
        out = out.replace(&format!("${i}"), id);
    }
    out
}
