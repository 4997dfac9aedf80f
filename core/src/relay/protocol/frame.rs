//! Frames of the live socket.
//!
//! A frame from the relay is read, and its event verified, off the actor by [`receive`]. Every text in it is bounded. Frames that
//! are none become [`RelayMessage::Malformed`]: they are counted, and nothing else happens.

use serde_json::value::RawValue;

use super::refusal::bounded;
use crate::event::{Rejected, SharedEvent, Verifier};
use crate::ids::EventId;
use crate::limits;
use crate::request::Filter;

/// What a reader says on the socket. Publications go over HTTP, where they cost no message quota (`protocol.md` 2.5).
#[derive(Clone, PartialEq, Eq)]
pub enum ClientMessage {
    /// Answer to the challenge: the signed event's JSON.
    Auth(String),
    /// Subscribes.
    Req {
        /// Subscription id.
        sub: String,
        /// Filters.
        filters: Vec<Filter>,
    },
    /// Ends a subscription.
    Close {
        /// Subscription id.
        sub: String,
    },
}

impl ClientMessage {
    /// The frame's text.
    pub fn to_text(&self) -> String {
        match self {
            // The event is JSON already, byte for byte what was signed.
            Self::Auth(json) => format!("[\"AUTH\",{json}]"),
            Self::Req { sub, filters } => {
                let mut parts = vec![serde_json::json!("REQ"), serde_json::json!(sub)];
                parts.extend(filters.iter().filter_map(|f| serde_json::to_value(f).ok()));
                serde_json::Value::Array(parts).to_string()
            }
            Self::Close { sub } => serde_json::json!(["CLOSE", sub]).to_string(),
        }
    }
}

impl std::fmt::Debug for ClientMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auth(_) => f.write_str("Auth"),
            Self::Req { filters, .. } => write!(f, "Req({} filters)", filters.len()),
            Self::Close { .. } => f.write_str("Close"),
        }
    }
}

/// What the relay says on the socket.
#[derive(Clone, PartialEq)]
pub enum RelayMessage {
    /// A verified event of a subscription.
    Event {
        /// Subscription id.
        sub: String,
        /// The event.
        event: SharedEvent,
    },
    /// An event that was dropped.
    Rejected(Rejected),
    /// Stored events of a subscription are through; it is live.
    Eose {
        /// Subscription id.
        sub: String,
    },
    /// Answer to an AUTH or EVENT.
    Ok {
        /// The event it answers.
        id: EventId,
        /// Verdict.
        accepted: bool,
        /// Text, at most 512 bytes.
        message: String,
    },
    /// A subscription has ended.
    Closed {
        /// Subscription id.
        sub: String,
        /// Text, at most 512 bytes.
        message: String,
    },
    /// Words without a subject, at most 512 bytes.
    Notice(String),
    /// The challenge to sign.
    Auth(String),
    /// Answer to a COUNT. Never asked for here.
    Count,
    /// No frame of this protocol.
    Malformed,
}

// Texts are the relay's, subscriptions may be named after channels: shapes only.
impl std::fmt::Debug for RelayMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Event { event, .. } => write!(f, "Event({event:?})"),
            Self::Rejected(rejected) => write!(f, "{rejected:?}"),
            Self::Eose { .. } => f.write_str("Eose"),
            Self::Ok { accepted, message, .. } => write!(f, "Ok({accepted}, {} B)", message.len()),
            Self::Closed { message, .. } => write!(f, "Closed({} B)", message.len()),
            Self::Notice(text) => write!(f, "Notice({} B)", text.len()),
            Self::Auth(_) => f.write_str("Auth(…)"),
            Self::Count => f.write_str("Count"),
            Self::Malformed => f.write_str("Malformed"),
        }
    }
}

/// Reads one text frame and verifies its event.
pub fn receive(text: &str, verifier: &Verifier) -> RelayMessage {
    read(text, verifier).unwrap_or(RelayMessage::Malformed)
}

fn read(text: &str, verifier: &Verifier) -> Option<RelayMessage> {
    if text.len() > limits::FRAME_BYTES {
        return None;
    }
    let parts = parts_of(text)?;
    let string = |at: usize| -> Option<String> { serde_json::from_str(parts.get(at)?.get()).ok() };
    // Ours are short; another one answers nothing that was asked.
    let sub = || string(1).filter(|s| s.len() <= 64);
    Some(match string(0)?.as_str() {
        "EVENT" => match verifier.event(parts.get(2)?.get()) {
            Ok(event) => RelayMessage::Event { sub: sub()?, event },
            Err(rejected) => RelayMessage::Rejected(rejected),
        },
        "EOSE" => RelayMessage::Eose { sub: sub()? },
        "OK" => RelayMessage::Ok {
            id: EventId::parse(&string(1)?).ok()?,
            accepted: serde_json::from_str(parts.get(2)?.get()).ok()?,
            message: bounded(&string(3).unwrap_or_default()),
        },
        "CLOSED" => RelayMessage::Closed { sub: sub()?, message: bounded(&string(2).unwrap_or_default()) },
        "NOTICE" => RelayMessage::Notice(bounded(&string(1)?)),
        "AUTH" => RelayMessage::Auth(string(1).filter(|c| !c.is_empty() && c.len() <= limits::RELAY_TEXT_BYTES)?),
        "COUNT" => RelayMessage::Count,
        _ => return None,
    })
}

/// The first elements of a JSON array; a frame has at most four.
fn parts_of(text: &str) -> Option<Vec<&RawValue>> {
    struct Parts;
    impl<'de> serde::de::Visitor<'de> for Parts {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a frame")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut parts = Vec::with_capacity(4);
            while let Some(part) = seq.next_element::<&RawValue>()? {
                if parts.len() < 4 {
                    parts.push(part);
                }
            }
            Ok(parts)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let parts = serde::Deserializer::deserialize_seq(&mut reader, Parts).ok()?;
    reader.end().ok()?;
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ChannelId;
    use crate::testing::{Author, channel, message};

    #[test]
    fn frames_to_the_relay() {
        let filter = Filter::kinds(&[9]).in_channels([ChannelId([0; 16])]).limit(0);
        let req = ClientMessage::Req { sub: "c1".into(), filters: vec![filter] };
        assert_eq!(
            req.to_text(),
            r##"["REQ","c1",{"#h":["00000000-0000-0000-0000-000000000000"],"kinds":[9],"limit":0}]"##
        );
        assert_eq!(ClientMessage::Close { sub: "c1".into() }.to_text(), r#"["CLOSE","c1"]"#);
        assert_eq!(ClientMessage::Auth("{\"id\":1}".into()).to_text(), r#"["AUTH",{"id":1}]"#);
    }

    #[test]
    fn frames_from_the_relay() {
        let verifier = Verifier::new();
        let read = |text: &str| receive(text, &verifier);
        let event = message(&Author::named("ada"), channel("general"), 5, "hi");
        assert_eq!(
            read(&format!(r#"["EVENT","c1",{}]"#, event.to_json())),
            RelayMessage::Event { sub: "c1".into(), event: event.clone() }
        );
        assert_eq!(read(r#" ["EOSE" , "c1"]"#), RelayMessage::Eose { sub: "c1".into() });
        let id = event.id.to_hex();
        assert_eq!(
            read(&format!(r#"["OK","{id}",false,"auth-required: verification failed"]"#)),
            RelayMessage::Ok { id: event.id, accepted: false, message: "auth-required: verification failed".into() }
        );
        assert_eq!(
            read(&format!(r#"["OK","{id}",true]"#)),
            RelayMessage::Ok { id: event.id, accepted: true, message: "".into() }
        );
        assert_eq!(read(r#"["CLOSED","c1",""]"#), RelayMessage::Closed { sub: "c1".into(), message: "".into() });
        assert_eq!(read(r#"["NOTICE","hello"]"#), RelayMessage::Notice("hello".into()));
        assert_eq!(read(r#"["AUTH","c0ffee"]"#), RelayMessage::Auth("c0ffee".into()));
        assert_eq!(read(r#"["COUNT","c1",{"count":3}]"#), RelayMessage::Count);
    }

    /// Pitfalls I3 and I6: what is forged or malformed is one dropped frame.
    #[test]
    fn hostile_frames_are_dropped() {
        let verifier = Verifier::new();
        let json = message(&Author::named("ada"), channel("general"), 5, "hi").to_json();
        let forged = json.replace("\"hi\"", "\"ho\"");
        assert!(matches!(receive(&format!(r#"["EVENT","c1",{forged}]"#), &verifier), RelayMessage::Rejected(_)));
        let (long_sub, deep) = (format!(r#"["EOSE","{}"]"#, "s".repeat(65)), "[".repeat(200_000));
        let huge = format!(r#"["NOTICE","{}"]"#, "x".repeat(limits::FRAME_BYTES));
        for bad in [
            "",
            "{}",
            "[]",
            "[1]",
            r#"["EOSE"]"#,
            r#"["EOSE",7]"#,
            r#"["OK","x",true,""]"#,
            r#"["AUTH",""]"#,
            r#"["NOPE","x"]"#,
            r#"["EOSE","c1"] x"#,
            r#"["OK","00",1,""]"#,
            &long_sub,
            &deep,
            &huge,
        ] {
            assert_eq!(receive(bad, &verifier), RelayMessage::Malformed, "{}", &bad[..bad.len().min(40)]);
        }
        let RelayMessage::Notice(kept) = receive(&format!(r#"["NOTICE","{}"]"#, "x".repeat(9_000)), &verifier) else {
            panic!()
        };
        assert_eq!(kept.len(), limits::RELAY_TEXT_BYTES);
        let many = format!(r#"["EOSE","c1"{}]"#, ",0".repeat(10_000));
        assert_eq!(receive(&many, &verifier), RelayMessage::Eose { sub: "c1".into() });
    }
}
