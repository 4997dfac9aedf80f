//! What a relay can see of a client, held against what it takes (`relay-measured.md` 1, 4, 5, 7 in the words of the test relay).

use serde_json::Value;
use waggle::limits;
use waggle::relay::transport::HttpRequest;
use waggle::request::Purpose;

/// Bytes of a body a relay takes.
const BODY_BYTES: usize = 1 << 20;
/// Bytes of a frame it takes.
const FRAME_BYTES: usize = 512 << 10;
/// Filters of a subscription.
const FILTERS: usize = 10;
/// Bytes of a subscription's name.
const NAME_BYTES: usize = 256;
/// Most rows of a plain query.
const ROWS: u64 = 1_000;

/// Everything about a request that is against a limit.
pub fn request(request: &HttpRequest) -> Vec<String> {
    let mut wrong = Vec::new();
    if request.body.len() > BODY_BYTES {
        wrong.push(format!("a body of {} bytes", request.body.len()));
    }
    if request.purpose == Purpose::Nip11 {
        return wrong;
    }
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        wrong.push(format!("{:?} without authorization", request.purpose));
    }
    if request.url.ends_with("/query") {
        match serde_json::from_slice::<Vec<Value>>(&request.body) {
            Ok(filters) => wrong.extend(query(&filters)),
            Err(_) => wrong.push("a query that is no list of filters".to_owned()),
        }
    } else if request.body.len() > limits::PENDING_BYTES {
        wrong.push(format!("a publication of {} bytes", request.body.len()));
    }
    wrong
}

fn query(filters: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let length = |filter: &Value, key: &str| filter[key].as_array().map_or(0, Vec::len);
    let channels: usize = filters.iter().map(|f| length(f, "#h")).sum();
    if channels > limits::CHANNELS_PER_REQUEST {
        wrong.push(format!("{channels} channels in one request"));
    }
    for filter in filters {
        let limit = filter["limit"].as_u64();
        let most = if filter["top_level"] == Value::Bool(true) {
            u64::from(limits::PAGE_ROWS_MAX)
        } else if filter.get("depth_limit").is_some() {
            u64::from(limits::THREAD_ROWS_MAX)
        } else {
            ROWS
        };
        if limit.is_some_and(|limit| limit > most) {
            wrong.push(format!("a limit of {limit:?} rows"));
        }
        if filter.get("before_id").is_some() && filter.get("until").is_none() {
            wrong.push("before_id without until".to_owned());
        }
        let ids = length(filter, "ids").max(length(filter, "#e"));
        if ids > limits::CHANGES_IDS {
            wrong.push(format!("{ids} ids in one filter"));
        }
    }
    wrong
}

/// Everything about a frame that is against a limit.
pub fn frame(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > FRAME_BYTES {
        wrong.push(format!("a frame of {} bytes", text.len()));
    }
    let parts: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    if parts.first().and_then(Value::as_str) == Some("REQ") {
        let name = parts.get(1).and_then(Value::as_str).map_or(0, str::len);
        let filters = parts.len().saturating_sub(2);
        if name == 0 || name > NAME_BYTES || filters == 0 || filters > FILTERS {
            wrong.push(format!("a subscription with a name of {name} bytes and {filters} filters"));
        }
        wrong.extend(query(parts.get(2..).unwrap_or_default()));
    }
    wrong
}

/// Whether a frame counts for the relay's pace.
pub fn is_counted(text: &str) -> bool {
    ["[\"REQ\"", "[\"EVENT\"", "[\"COUNT\""].iter().any(|verb| text.starts_with(verb))
}

/// The id of an event that is sent.
pub fn event_id(body: &[u8]) -> String {
    let event: Value = serde_json::from_slice(body).unwrap_or_default();
    event["id"].as_str().unwrap_or_default().to_owned()
}

/// An answer that lacks every second message.
pub fn without_every_second(body: &[u8]) -> Vec<u8> {
    let Ok(events) = serde_json::from_slice::<Vec<Value>>(body) else { return body.to_vec() };
    let mut seen = 0;
    let kept = events.into_iter().filter(|event| {
        let message = event["kind"] == 9;
        seen += usize::from(message);
        !message || seen % 2 == 1
    });
    serde_json::to_vec(&kept.collect::<Vec<_>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_are_seen() {
        let channels: Vec<String> = (0..129).map(|n| n.to_string()).collect();
        assert_eq!(query(&[json!({"#h": channels, "limit": 1_001})]).len(), 2);
        assert_eq!(query(&[json!({"#h": ["a"], "top_level": true, "limit": 201})]).len(), 1);
        assert_eq!(query(&[json!({"before_id": "x"})]).len(), 1);
        assert!(query(&[json!({"#h": ["a"], "limit": 500})]).is_empty());
        assert_eq!(frame(&json!(["REQ", "", {}]).to_string()).len(), 1);
        assert!(frame(r#"["CLOSE","x"]"#).is_empty());
    }

    #[test]
    fn omitted_rows_are_messages() {
        let body = json!([{"kind": 9, "id": 1}, {"kind": 5}, {"kind": 9, "id": 2}, {"kind": 9, "id": 3}]).to_string();
        let left: Vec<Value> = serde_json::from_slice(&without_every_second(body.as_bytes())).unwrap();
        assert_eq!(left, [json!({"kind": 9, "id": 1}), json!({"kind": 5}), json!({"kind": 9, "id": 3})]);
    }
}
