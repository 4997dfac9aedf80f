//! What an app can see of generated Swift and Kotlin, as text: one line a public declaration, without bodies and comments.
//!
//! The sources are read once from start to end. A statement ends at a line's end outside of brackets, or with the block that
//! follows it. Blocks of types are gone into, all others are skipped. What is not visible (Kotlin: private or internal; Swift:
//! not public, and not part of something public that needs no word for it) is left out together with its block, and so is the
//! generator's own machinery.

use similar::{ChangeTag, TextDiff};

/// The language of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Kotlin,
    Swift,
}

const TYPES: [&str; 7] = ["class", "interface", "object", "struct", "enum", "protocol", "extension"];
const MEMBERS: [&str; 11] =
    ["fun", "val", "var", "typealias", "constructor", "func", "let", "init", "case", "subscript", "companion"];
const MODIFIERS: [&str; 25] = [
    "public",
    "open",
    "final",
    "static",
    "override",
    "suspend",
    "data",
    "sealed",
    "const",
    "abstract",
    "indirect",
    "nonisolated",
    "convenience",
    "mutating",
    "required",
    "lateinit",
    "inline",
    "operator",
    "value",
    "fun",
    "enum",
    "companion",
    "annotation",
    "async",
    "nonisolated(unsafe)",
];
const HIDDEN: [&str; 5] = ["private", "internal", "protected", "fileprivate", "external"];
/// Starts of names that belong to the generator.
const MACHINERY: [&str; 8] =
    ["FfiConverter", "Uniffi", "uniffi", "UNIFFI", "RustBuffer", "ForeignBytes", "FfiConverterType", "JnaNative"];

/// The public declarations of a source, a line each, indented by nesting.
pub(crate) fn declarations(language: Language, source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut reader = Reader { text, at: 0, language };
    let mut lines = vec![];
    reader.block(0, None, &mut lines);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

struct Reader {
    text: Vec<char>,
    at: usize,
    language: Language,
}

impl Reader {
    /// Reads to the end of the block (or of the source) and adds its visible declarations. `within` is the kind of type it
    /// belongs to.
    fn block(&mut self, depth: usize, within: Option<&str>, lines: &mut Vec<String>) {
        loop {
            let (statement, end) = self.statement();
            let declared = declared(self.language, &statement, within);
            match (end, declared) {
                (End::Block, Some(kind)) if TYPES.contains(&kind) => {
                    let header = lines.len();
                    lines.push(indented(depth, &statement));
                    self.block(depth + 1, Some(kind), lines);
                    let empty = lines.len() == header + 1;
                    if kind == "extension" && empty && !statement.contains(':') {
                        lines.pop();
                    }
                }
                (End::Block, declared) => {
                    if declared.is_some() {
                        lines.push(indented(depth, &without_value(&statement)));
                    }
                    self.skip_block();
                }
                (End::Statement, Some(_)) => lines.push(indented(depth, &without_value(&statement))),
                (End::Statement, None) => {
                    if within == Some("enum") && self.language == Language::Kotlin && is_entry(&statement) {
                        lines.push(indented(depth, statement.trim_end_matches([',', ';'])));
                    }
                }
                (End::Outer, _) => return,
            }
        }
    }

    /// The next statement, with its white space made even, and what ended it.
    fn statement(&mut self) -> (String, End) {
        let mut words = String::new();
        let mut brackets = 0_usize;
        while let Some(c) = self.next_code(&mut words) {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                '{' if brackets == 0 => return (even(&words), End::Block),
                '{' => {
                    self.skip_block();
                    continue;
                }
                '}' if words.trim().is_empty() => return (String::new(), End::Outer),
                '}' => {
                    self.at -= 1;
                    return (even(&words), End::Statement);
                }
                ';' if brackets == 0 => return (even(&words), End::Statement),
                '\n' if brackets == 0 && !words.trim().is_empty() && !self.goes_on(&words) => {
                    return (even(&words), End::Statement);
                }
                _ => {}
            }
            words.push(c);
        }
        let end = if words.trim().is_empty() { End::Outer } else { End::Statement };
        (even(&words), end)
    }

    /// Whether a statement goes on in the next line: after an annotation, or before a block, a supertype or a result.
    fn goes_on(&self, words: &str) -> bool {
        let next = self.text[self.at..].iter().find(|c| !c.is_whitespace());
        let last = words.trim_end().rsplit('\n').next().unwrap_or_default().trim();
        let annotation = last.starts_with('@') && !last.contains(" fun ") && !last.contains(" class ");
        annotation || last.ends_with(':') || last.ends_with("->") || matches!(next, Some('{' | ':'))
    }

    /// The next character that is code; comments are passed over, literals go to `words` as they are.
    fn next_code(&mut self, words: &mut String) -> Option<char> {
        loop {
            let c = *self.text.get(self.at)?;
            let next = self.text.get(self.at + 1).copied();
            match (c, next) {
                ('/', Some('/')) => {
                    while self.text.get(self.at).is_some_and(|c| *c != '\n') {
                        self.at += 1;
                    }
                }
                ('/', Some('*')) => self.skip_comment(),
                ('"', _) => words.push_str(&self.literal()),
                ('\'', _) if self.language == Language::Kotlin => self.at += if next == Some('\\') { 4 } else { 3 },
                _ => {
                    self.at += 1;
                    return Some(c);
                }
            }
        }
    }

    fn skip_comment(&mut self) {
        self.at += 2;
        while self.at < self.text.len() && !self.starts_with("*/") {
            self.at += 1;
        }
        self.at += 2;
    }

    /// A text literal, with what is interpolated in it.
    fn literal(&mut self) -> String {
        let start = self.at;
        let quote = if self.starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
        self.at += quote.len();
        while self.at < self.text.len() && !self.starts_with(quote) {
            let interpolated = match self.language {
                Language::Kotlin => "${",
                Language::Swift => "\\(",
            };
            if self.starts_with(interpolated) {
                self.at += 2;
                self.skip_to_close();
            } else {
                self.at += if self.text[self.at] == '\\' { 2 } else { 1 };
            }
        }
        self.at += quote.len();
        self.text[start..self.at.min(self.text.len())].iter().collect()
    }

    fn skip_block(&mut self) {
        self.skip_to_close();
    }

    /// Goes past the bracket that closes the one just read.
    fn skip_to_close(&mut self) {
        let mut open = 1_usize;
        let mut ignored = String::new();
        while open > 0 {
            match self.next_code(&mut ignored) {
                Some('{' | '(') => open += 1,
                Some('}' | ')') => open -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    fn starts_with(&self, what: &str) -> bool {
        what.chars().enumerate().all(|(n, c)| self.text.get(self.at + n) == Some(&c))
    }
}

/// What ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A line's end, or a semicolon.
    Statement,
    /// A block that belongs to it; its opening bracket has been read.
    Block,
    /// The end of the block around it, or of the source.
    Outer,
}

/// The kind of visible declaration a statement is, if it is one.
fn declared(language: Language, statement: &str, within: Option<&str>) -> Option<&'static str> {
    let bare = without_annotations(statement);
    let words: Vec<&str> =
        bare.split(|c: char| c.is_whitespace() || "(<:{".contains(c)).filter(|w| !w.is_empty()).collect();
    let kind_at = words.iter().position(|w| TYPES.contains(w) || MEMBERS.contains(w))?;
    if words[..kind_at].iter().any(|word| !MODIFIERS.contains(word) || HIDDEN.contains(word)) {
        return None;
    }
    // `enum class`, `companion object`, `fun interface`: the last word of the kind counts.
    let last =
        (kind_at..words.len()).take_while(|n| TYPES.contains(&words[*n]) || MEMBERS.contains(&words[*n])).last()?;
    let kinds = &words[kind_at..=last];
    let kind = if kinds.contains(&"enum") { "enum" } else { kinds[kinds.len() - 1] };
    let name = words.get(last + 1).copied().unwrap_or_default();
    if MACHINERY.iter().any(|start| name.starts_with(start)) || name.starts_with('_') {
        return None;
    }
    let visible = match language {
        Language::Kotlin => true,
        Language::Swift => {
            words[..kind_at].iter().any(|word| ["public", "open"].contains(word))
                || within == Some("protocol")
                || kind == "extension"
                || (kind == "case" && within == Some("enum"))
        }
    };
    let all = TYPES.iter().chain(&MEMBERS);
    visible.then(|| all.copied().find(|known| *known == kind)).flatten()
}

/// An entry of a Kotlin enum: one name, perhaps with arguments.
fn is_entry(statement: &str) -> bool {
    let name = statement.trim_end_matches([',', ';']).split('(').next().unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Without leading `@Name` and `@Name(…)`.
fn without_annotations(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    while let Some(after) = rest.strip_prefix('@') {
        let name = after.find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c))).unwrap_or(after.len());
        rest = &after[name..];
        if rest.starts_with('(') {
            rest = rest.split_once(')').map_or("", |(_, rest)| rest);
        }
        rest = rest.trim_start();
    }
    rest
}

/// Without the value or the body after `=`; defaults of parameters are inside brackets and stay.
fn without_value(statement: &str) -> String {
    let mut brackets = 0_i32;
    for (at, c) in statement.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '=' if brackets == 0 && statement[..at].ends_with(' ') && statement[at + 1..].starts_with([' ', '\n']) => {
                return statement[..at].trim_end().to_owned();
            }
            _ => {}
        }
    }
    statement.trim_end_matches('=').trim_end().to_owned()
}

/// One line, single spaces, no back-ticks.
fn even(words: &str) -> String {
    let spaced = words.replace('`', "");
    let mut line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    for (loose, tight) in [("( ", "("), (" )", ")"), (" ,", ","), (",)", ")"), (", )", ")")] {
        line = line.replace(loose, tight);
    }
    line
}

fn indented(depth: usize, statement: &str) -> String {
    format!("{}{}", "    ".repeat(depth), without_annotations(statement))
}

/// The lines that differ, marked `-` for those that are gone and `+` for new ones.
pub(crate) fn difference(old: &str, new: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter_map(|change| {
        let mark = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{mark} {}", change.value().trim_end()))
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kotlin() {
        let source = r#"
package org.waggle.ffi
import java.nio.ByteBuffer
/** Not { this. */
internal class Hidden { fun no() {} }
@Structure.FieldOrder("a", "b")
internal open class Gone(
    @JvmField var a: Byte = 0.toByte(),
) : Structure() { class UniffiByValue }
private inline fun <T> secret(f: () -> T) { "}" }
public interface SessionInterface {
    /** Starts. */
    suspend fun `start`(`after`: kotlin.ULong)
    companion object
}
open class Session: Disposable, SessionInterface
{
    internal constructor(x: Long) { call("${a("}")} }") }
    @Throws(WaggleException::class)
    override suspend fun `start`(`after`: kotlin.ULong = 1u) : Int {
        return '{'.code
    }
}
data class Failure (
    /** The code. */
    var `code`: kotlin.String
    ,
    var `retry`: Retry
){
    companion object
}
enum class Mode {

    FAST,
    SLOW;
    companion object
}
public object FfiConverterTypeFailure : Converter { fun read() {} }
 fun `coreVersion`(): kotlin.String =
    call { x }
const val BUILD: String = "1"
"#;
        let expected = "\
public interface SessionInterface
    suspend fun start(after: kotlin.ULong)
    companion object
open class Session: Disposable, SessionInterface
    override suspend fun start(after: kotlin.ULong = 1u) : Int
data class Failure (var code: kotlin.String, var retry: Retry)
    companion object
enum class Mode
    FAST
    SLOW
    companion object
fun coreVersion(): kotlin.String
const val BUILD: String
";
        assert_eq!(declarations(Language::Kotlin, source), expected);
    }

    #[test]
    fn swift() {
        let source = r#"
import Foundation
fileprivate extension RustBuffer { init(bytes: [UInt8]) { self = "\(call("}"))" } }
public protocol SessionProtocol: AnyObject, Sendable {
    /// Starts.
    func start(after: UInt64) async throws  -> Int
}
open class Session: SessionProtocol, @unchecked Sendable {
    fileprivate let handle: UInt64
    required public init(unsafeFromHandle handle: UInt64) {
        self.handle = handle
    }
    open func start(after: UInt64)async throws  -> Int  {
        return 1 // }
    }
}
public struct Failure: Equatable, Hashable {
    /**
     * The code. {
     */
    public var code: String
    public init(
        code: String, retry: Retry = .now) {
        self.code = code
    }
}
#if compiler(>=6)
extension Failure: Sendable {}
#endif
extension Failure {}
public enum Retry {
    case never
    case after(
        seconds: UInt32
    )
}
public struct FfiConverterTypeRetry: FfiConverterRustBuffer { public static func read() {} }
private enum Hidden { case x }
public func coreVersion() -> String  {
    return "}"
}
public let build = "1"
"#;
        let expected = "\
public protocol SessionProtocol: AnyObject, Sendable
    func start(after: UInt64) async throws -> Int
open class Session: SessionProtocol, @unchecked Sendable
    required public init(unsafeFromHandle handle: UInt64)
    open func start(after: UInt64)async throws -> Int
public struct Failure: Equatable, Hashable
    public var code: String
    public init(code: String, retry: Retry = .now)
extension Failure: Sendable
public enum Retry
    case never
    case after(seconds: UInt32)
public func coreVersion() -> String
public let build
";
        assert_eq!(declarations(Language::Swift, source), expected);
    }

    #[test]
    fn differences_are_marked() {
        assert_eq!(difference("a\nb\n", "a\nc\n"), ["- b", "+ c"]);
        assert!(difference("a\n", "a\n").is_empty());
    }
}
