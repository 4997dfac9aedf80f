//! Colours and modifiers. Nothing is told by colour alone: what matters has a word, a sign or weight too.

use ratatui::style::{Color, Modifier, Style};

/// Names of authors.
pub const NAME: Style = Style::new().add_modifier(Modifier::BOLD);
/// The viewer's own name.
pub const OWN: Style = Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD);
/// What stands back: times, separators, notices.
pub const QUIET: Style = Style::new().fg(Color::DarkGray);
/// What wants attention: dots, mentions, the first-unread line.
pub const ACCENT: Style = Style::new().fg(Color::Yellow);
/// What went wrong.
pub const ERROR: Style = Style::new().fg(Color::Red);
/// A strong label.
pub const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
/// The cursor of a list.
pub const CURSOR: Style = Style::new().add_modifier(Modifier::REVERSED);
/// Added lines of a diff.
pub const ADDED: Style = Style::new().fg(Color::Green);
/// Removed lines of a diff.
pub const REMOVED: Style = Style::new().fg(Color::Red);
/// Plain text.
pub const PLAIN: Style = Style::new();
