import Waggle

/// How many conversations have something unread, for a badge: looked up once, by a short-lived process. `nil` when it cannot be had, or when
/// the task is cancelled first. Whatever comes of it, the client is closed when this returns.
@MainActor public func unreadConversations(_ client: any ReaderClient, _ settings: any ReaderSettings) async -> UInt32? {
    var count: UInt32?
    let failed = await failureOf {
        guard let account = settings.account, let host = settings.current else { return }
        try await client.useAccount(account)
        let session = try client.open(host: host)
        try await session.start()
        try await session.ensure()
        // A range that shows no row: every conversation lies beyond one edge or the other.
        let cues = session.cues(first: 1, last: 0)
        count = cues.above.count + cues.below.count
    }
    try? await client.close()
    return failed == nil && !Task.isCancelled ? count : nil
}
