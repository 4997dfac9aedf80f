//! Byte counting (`unread.md` 8.3). The journal estimate counts a comma for every entry and is therefore one byte high for a
//! non-empty set; published capacities depend on that, so it stays. The reserve is counted exactly.

use super::key::Key;
use super::record::Override;

/// Bytes of `{"v":1,"client_id":"…","contexts":{}}` for this client id.
pub fn blob_base(client_id: &str) -> usize {
    const FRAME: usize = r#"{"v":1,"client_id":,"contexts":{}}"#.len();
    FRAME + quoted(client_id)
}

/// Estimated bytes of one frontier in a blob: quoted key, escaped as on the wire, colon, comma, digits.
pub fn entry(key: &Key, value: u32) -> usize {
    let text = key.opaque().map_or(key.text_len() + 2, |text| {
        // Keys that would be taken for a register carry one `esc:` on the wire (`unread.md` 9.2).
        quoted(text) + if text.starts_with("ov_") || text.starts_with("esc:") { 4 } else { 0 }
    });
    text + 2 + digits(value)
}

/// Estimated bytes of the three registers of one override.
pub fn override_entry(key: &Key, value: Override) -> usize {
    let text = key.opaque().map_or(key.text_len() + 2, quoted) + "ov_s:".len() + 2;
    3 * text + digits(value.set) + digits(value.clear) + digits(value.baseline)
}

/// Exact bytes of one receipt in the reserve's JSON, its comma included.
pub fn reserve_entry(key: &Key, value: u32) -> usize {
    key.opaque().map_or(key.text_len() + 2, quoted) + 1 + digits(value) + 1
}

/// Exact bytes of a reserve of `keys` receipts whose [`reserve_entry`] add up to `entries`.
pub fn reserve_total(keys: usize, entries: usize) -> usize {
    2 + entries - usize::from(keys > 0 && entries > 0)
}

/// Decimal digits.
pub fn digits(value: u32) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// UTF-8 bytes of a text as a JSON string, quotes and escapes as this core writes them.
fn quoted(text: &str) -> usize {
    let escaped: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | 0x08 | 0x09 | 0x0a | 0x0c | 0x0d => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum();
    escaped + 2
}
