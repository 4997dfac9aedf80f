import WaggleGenerated

/// Waggle's log: to the platform's log where there is one, to a sink of the app's own, and as a sequence.
///
/// Lines carry shapes (counts, kinds, durations, codes), never content, ids, keys or hosts, so they may be shown and shared.
public enum WaggleLog {
    /// Starts logging for the whole process. `levels` says how much of what, as in `info,waggle::session=debug`. Fails with
    /// `InvalidArgument` for levels that are none, and with `Other` (code `busy`) when the process logs already.
    public static func start(levels: String) throws(ClientError) {
        try clientCall { try startLogging(levels: levels) }
    }

    /// Sends lines to a sink as well, in place of an earlier one; `nil` ends that.
    public static func send(to sink: (any LogSink)?) {
        setLogSink(sink: sink)
    }

    /// Lines in batches, beginning with those that are kept (the newest 1,000). A batch says how many lines a slow reader missed.
    public static var batches: Updates<LogBatch> {
        Updates { .value(of: LogStream()) }
    }

    /// Lines one by one, beginning with those that are kept.
    public static var lines: LogLines { LogLines(batches: batches) }
}

/// The lines of Waggle's log, from ``WaggleLog/lines``.
public struct LogLines: AsyncSequence, Sendable {
    public typealias Element = LogLine

    let batches: Updates<LogBatch>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(batches: batches.makeAsyncIterator())
    }

    /// One way through the lines.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        var batches: Updates<LogBatch>.AsyncIterator
        var ready = ArraySlice<LogLine>()

        /// The next line; `nil` after a cancellation.
        public mutating func next() async -> LogLine? {
            while ready.isEmpty {
                guard let batch = await batches.next() else { return nil }
                ready = batch.lines[...]
            }
            return ready.popFirst()
        }
    }
}
