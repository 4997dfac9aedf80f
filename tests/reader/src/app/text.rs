//! Text for a terminal: nothing in a message may steer the terminal, and every line fits its width.
//!
//! Widths are those ratatui draws with (Unicode East Asian width, by grapheme).

use ratatui::style::Style;
use ratatui::text::Span;

/// What stands for something that must not reach a terminal.
const REPLACED: char = '\u{fffd}';

/// Whether a character could steer the terminal or the direction of text around it.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A copy on one line, without anything that could steer the terminal.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).map(clean).collect()
}

fn clean(c: char) -> char {
    if steers(c) { REPLACED } else { c }
}

/// Columns a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// The beginning of a text that fits, with `…` where something was left out.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in Span::raw(text).styled_graphemes(Style::default()) {
        let wide = width(grapheme.symbol);
        if used + wide + 1 > columns {
            break;
        }
        used += wide;
        kept.push_str(grapheme.symbol);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Breaks a text into lines of at most `columns`, at spaces where there are any.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let expanded = paragraph.trim_end_matches('\r').replace('\t', "    ");
        let cleaned: String = expanded.chars().map(clean).collect();
        wrap_paragraph(&cleaned, columns, &mut lines);
    }
    lines
}

fn wrap_paragraph(text: &str, columns: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut used = 0;
    // Where the last space of the line ends: bytes and columns.
    let mut space: Option<(usize, usize)> = None;
    for grapheme in Span::raw(text).styled_graphemes(Style::default()) {
        let wide = width(grapheme.symbol);
        if used + wide > columns && !line.is_empty() && grapheme.symbol == " " {
            // A space at the edge breaks the line and is not drawn.
            lines.push(std::mem::take(&mut line));
            (used, space) = (0, None);
            continue;
        }
        // Twice at most: what follows the last space may itself be too long for a wide character more.
        while used + wide > columns && !line.is_empty() {
            let (at, columns_before) = space.take().unwrap_or((line.len(), used));
            let rest = line.split_off(at);
            lines.push(line.trim_end().to_owned());
            line = rest;
            used -= columns_before;
        }
        line.push_str(grapheme.symbol);
        used += wide;
        if grapheme.symbol == " " {
            space = Some((line.len(), used));
        }
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_spaces_and_inside_long_words() {
        assert_eq!(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("one\n\ntwo", 10), ["one", "", "two"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn wide_characters_count_twice_and_are_never_cut() {
        for line in wrap("蜂蜜蜂蜜 🐝🐝🐝 蜂", 5) {
            assert!(width(&line) <= 5, "{line}");
        }
        assert_eq!(wrap("蜂蜜蜂", 5), ["蜂蜜", "蜂"]);
        assert_eq!(fit("蜂蜜蜂", 5), "蜂蜜…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abcd", 0), "");
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "a\u{1b}[2Jb\u{7}c\u{202e}d\u{9b}e";
        assert!(wrap(hostile, 80).iter().all(|l| !l.chars().any(steers)));
        assert!(!one_line(hostile).chars().any(steers));
        assert_eq!(one_line("a\nb"), "a b");
    }

    #[test]
    fn no_width_is_too_small() {
        assert_eq!(wrap("蜂a", 1), ["蜂", "a"]);
        assert_eq!(wrap("ab", 0), ["a", "b"]);
    }
}
