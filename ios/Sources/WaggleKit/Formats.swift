public import Foundation
public import Waggle

/// How times, days and numbers are written, for one place and language.
public struct Formats: Sendable {
    private let locale: Locale
    private let zone: TimeZone
    private let calendar: Calendar

    /// Writes as is usual in `locale`, for days that begin so many seconds east of UTC.
    public init(locale: Locale, utcOffset: Int32) {
        self.locale = locale
        zone = TimeZone(secondsFromGMT: Int(utcOffset)) ?? .gmt
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        calendar.locale = locale
        self.calendar = calendar
    }

    /// Time of day of a moment in seconds since 1970.
    public func time(_ seconds: UInt64) -> String {
        moment(seconds).formatted(style(date: .omitted, time: .shortened))
    }

    /// Day and time of a moment, for what stands alone.
    public func dayAndTime(_ seconds: UInt64) -> String {
        moment(seconds).formatted(style(date: .abbreviated, time: .shortened))
    }

    /// Time of day to the second, for logs.
    public func stamp(_ seconds: UInt64) -> String {
        let parts = calendar.dateComponents([.hour, .minute, .second], from: moment(seconds))
        return [parts.hour, parts.minute, parts.second].map { part in
            let digits = String(part ?? 0)
            return digits.count < 2 ? "0" + digits : digits
        }.joined(separator: ":")
    }

    /// A day in words; the day of `now` and the one before have names.
    public func day(_ day: Date, now: Date) -> String {
        if calendar.isDate(day, inSameDayAs: now) { return "Today" }
        if let yesterday = calendar.date(byAdding: .day, value: -1, to: now), calendar.isDate(day, inSameDayAs: yesterday) {
            return "Yesterday"
        }
        return day.formatted(style(date: .complete, time: .omitted))
    }

    /// A number as it is written in the language.
    public func count(_ count: UInt32) -> String {
        Int(count).formatted(.number.locale(locale))
    }

    private func moment(_ seconds: UInt64) -> Date {
        Date(timeIntervalSince1970: TimeInterval(seconds))
    }

    private func style(date: Date.FormatStyle.DateStyle, time: Date.FormatStyle.TimeStyle) -> Date.FormatStyle {
        Date.FormatStyle(date: date, time: time, locale: locale, calendar: calendar, timeZone: zone)
    }
}

/// First letters of up to two words of a name, for a round picture.
public func initials(_ name: String) -> String {
    name.split(separator: " ").prefix(2).compactMap { word in
        (word.first { $0.isLetter || $0.isNumber } ?? word.first).map { $0.uppercased() }
    }.joined()
}

/// What assistive technology reads for a row: who, what and when, then what is said in marks.
public func spoken(_ row: TimelineRow, _ formats: Formats) -> String {
    var parts = [row.authorName, row.text, formats.time(row.createdAt)]
    if row.edited { parts.append("edited") }
    if row.mentioned { parts.append("mentions you") }
    for reaction in row.reactions {
        parts.append("\(formats.count(reaction.count)) × \(reaction.emoji)" + (reaction.mine ? ", one is yours" : ""))
    }
    if row.replies > 0 { parts.append(replies(row, formats)) }
    return parts.joined(separator: ", ")
}

/// What stands on the button below a message with replies.
public func replies(_ row: TimelineRow, _ formats: Formats) -> String {
    let count = row.replies == 1 ? "1 reply" : "\(formats.count(row.replies)) replies"
    return row.threadDot ? "\(count), unread" : count
}
