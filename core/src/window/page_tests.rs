use super::*;
use crate::event::{RejectReason, Rejected};
use crate::testing::{Author, channel, message, template};

struct Given {
    relay: Author,
    channel: ChannelId,
    cursor: RowKey,
}

fn given() -> Given {
    Given { relay: Author::named("relay"), channel: channel("general"), cursor: RowKey::new(500, EventId([0x7f; 32])) }
}

impl Given {
    fn bounds(&self, d: &str, content: &str) -> SharedEvent {
        let (d, h) = (format!("{}:{d}", self.channel), self.channel.to_string());
        self.relay.sign(template(kinds::BOUNDS, 1, &[&["d", &d], &["h", &h]], content))
    }
    fn bound(&self) -> String {
        format!("500:{}", self.cursor.id)
    }
    fn rows(&self, times: &[u64]) -> Vec<SharedEvent> {
        times.iter().map(|t| message(&Author::named("ada"), self.channel, *t, "x")).collect()
    }
    fn check(&self, mut rows: Vec<SharedEvent>, bounds: &[SharedEvent]) -> Result<WindowPage, Unusable> {
        rows.extend(bounds.iter().cloned());
        let batch = Batch { events: rows, rejected: Vec::new() };
        accept(&batch, self.channel, Some(self.cursor), Signer::Key(self.relay.key()))
    }
}

const END: &str = r#"{"has_more":false,"next_cursor":null}"#;

fn more(at: u64, id: u8) -> String {
    format!(r#"{{"has_more":true,"next_cursor":{{"created_at":{at},"id":"{}"}}}}"#, EventId([id; 32]))
}

/// Pitfalls A7: each single fault refuses the page.
#[test]
fn faulty_bounds_refuse_the_page() {
    let g = given();
    let good = g.bounds(&g.bound(), END);
    assert_eq!(g.check(g.rows(&[400, 300]), std::slice::from_ref(&good)).unwrap().rows.len(), 2);
    let upper = g.bound().to_uppercase();
    let wrong_h = g.relay.sign(template(
        kinds::BOUNDS,
        1,
        &[&["d", &format!("{}:{}", g.channel, g.bound())], &["h", &channel("ops").to_string()]],
        END,
    ));
    for bounds in [
        vec![g.bounds("head", END)],
        vec![g.bounds(&upper, END)],
        vec![good.clone(), g.bounds(&g.bound(), &more(100, 1))],
        vec![g.bounds(&g.bound(), "no json")],
        vec![g.bounds(&g.bound(), r#"{"has_more":"true","next_cursor":null}"#)],
        vec![g.bounds(&g.bound(), r#"{"has_more":true,"next_cursor":null}"#)],
        vec![g.bounds(&g.bound(), &more(100, 1).replace("true", "false"))],
        vec![g.bounds(&g.bound(), &more(500, 0x7f))],
        vec![g.bounds(&g.bound(), &more(500, 0x7e))],
        vec![g.bounds(&g.bound(), &more(501, 1))],
        vec![g.bounds(&g.bound(), &more(100, 1).replace("0101", "ZZ01"))],
        vec![wrong_h],
        vec![Author::named("ada").sign(template(kinds::BOUNDS, 1, &[], END))],
    ] {
        assert!(matches!(g.check(g.rows(&[400]), &bounds), Err(Unusable::Invalid(_))));
    }
}

/// R1: the next cursor is taken as it is named (pitfalls A5); the same second with a later id moves.
#[test]
fn the_cursor_is_the_relays() {
    let g = given();
    let page = g.check(g.rows(&[400]), &[g.bounds(&g.bound(), &more(399, 0x22))]).unwrap();
    assert_eq!(page.next, Some(RowKey::new(399, EventId([0x22; 32]))));
    assert!(g.check(Vec::new(), &[g.bounds(&g.bound(), &more(500, 0x80))]).unwrap().next.is_some());
}

/// R1: rows strictly in order, strictly after the cursor.
#[test]
fn rows_out_of_order_refuse_the_page() {
    let g = given();
    let bounds = [g.bounds(&g.bound(), END)];
    let one = g.rows(&[400]);
    let twice = vec![one[0].clone(), one[0].clone()];
    for rows in [g.rows(&[300, 400]), g.rows(&[501]), twice] {
        assert!(matches!(g.check(rows, &bounds), Err(Unusable::Invalid(_))));
    }
}

/// R5: what is no page is told apart.
#[test]
fn no_page_is_told_apart() {
    let g = given();
    let accept = |events: Vec<SharedEvent>, rejected: Vec<Rejected>| {
        let batch = Batch { events, rejected };
        accept(&batch, g.channel, Some(g.cursor), Signer::Key(g.relay.key())).map(|p| (p.rows_complete, p.rows.len()))
    };
    let rejected = |kind| vec![Rejected { kind, reason: RejectReason::Signature }];
    assert_eq!(accept(vec![], vec![]), Err(Unusable::Empty));
    assert_eq!(accept(g.rows(&[400]), vec![]), Err(Unusable::NoBounds));
    assert!(matches!(accept(g.rows(&[400]), rejected(Some(39006))), Err(Unusable::Invalid(_))));
    let mut whole = g.rows(&[400]);
    whole.push(g.bounds(&g.bound(), END));
    assert_eq!(accept(whole.clone(), rejected(Some(9))), Ok((false, 1)), "a row that does not verify is dropped alone");
    assert_eq!(accept(whole, rejected(Some(39005))), Ok((true, 1)));
}

/// R2: without an advertised key any one signer of the answer is believed, and summaries must be of the same.
#[test]
fn transport_trust_believes_one_signer() {
    let g = given();
    let rows = g.rows(&[400]);
    let (id, h) = (rows[0].id.to_hex(), g.channel.to_string());
    let tags: &[&[&str]] = &[&["e", &id], &["d", &id], &["h", &h]];
    let summary = |by: &Author| by.sign(template(kinds::SUMMARY, 2, tags, r#"{"reply_count":3,"last_reply_at":null}"#));
    let events = vec![rows[0].clone(), summary(&Author::named("ada")), summary(&g.relay), g.bounds(&g.bound(), END)];
    let batch = Batch { events, rejected: Vec::new() };
    let page = accept(&batch, g.channel, Some(g.cursor), Signer::Transport).unwrap();
    assert_eq!((page.summaries.len(), page.summaries_complete, page.signer), (1, false, g.relay.key()));
}

#[test]
fn malformed_summaries_are_none() {
    let (relay, c) = (Author::named("relay"), channel("general").to_string());
    let (a, b) = (EventId([1; 32]).to_hex(), EventId([2; 32]).to_hex());
    let good = r#"{"reply_count":3,"descendant_count":3,"last_reply_at":7,"participants":[]}"#;
    let make = |tags: &[&[&str]], content: &str| parse_summary(&relay.sign(template(kinds::SUMMARY, 2, tags, content)));
    let tags: &[&[&str]] = &[&["e", &a], &["d", &a], &["h", &c]];
    assert_eq!(make(tags, good), Some(Summary { root: EventId([1; 32]), count: 3, last_reply_at: Some(7) }));
    assert_eq!(make(&[&["e", &a], &["d", &b], &["h", &c]], good), None);
    assert_eq!(make(&[&["e", &a], &["e", &a], &["d", &a], &["h", &c]], good), None);
    assert_eq!(make(&[&["h", &c]], good), None);
    assert_eq!(make(&[&["e", &a], &["d", &a]], good), None);
    assert_eq!(make(tags, r#"{"reply_count":-1}"#), None);
    assert_eq!(make(tags, "[]"), None);
}
