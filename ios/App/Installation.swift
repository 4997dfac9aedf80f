import Foundation
import Network
import Observation
import SwiftUI
import Waggle
import WaggleKit

/// The one client of this process, and what the system says to it.
@MainActor @Observable final class Installation {
    enum State {
        case unopened
        case failure(Failure)
        case reader(ReaderModel)
    }

    private(set) var state = State.unopened
    @ObservationIgnored private let monitor = NWPathMonitor()
    @ObservationIgnored private var isWatched = false

    private var reader: ReaderModel? {
        if case .reader(let reader) = state { reader } else { nil }
    }

    /// Opens the client. Keys lie in the Keychain, through the core's own store.
    func open() {
        guard reader == nil else { return }
        do throws(ClientError) {
            // Without its App Group (a build that is not signed for it) the app has its own folder, and its extension finds nothing.
            let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Shared.group)
            let folder = Shared.folder(in: group ?? URL.applicationSupportDirectory)
            let client = try WaggleClient(configuration: ClientConfig(dataDir: folder, mode: .app))
            try? WaggleLog.start(levels: "info")
            let settings = DefaultsSettings(UserDefaults(suiteName: Shared.group) ?? .standard)
            let reader = ReaderModel(client: client, settings: settings) { Int32(TimeZone.current.secondsFromGMT()) }
            state = .reader(reader)
            reader.start()
            watchNetwork()
        } catch {
            state = .failure(error.failure)
        }
    }

    /// The first path is told at once and is no news.
    private func watchNetwork() {
        guard !isWatched else { return }
        isWatched = true
        var first = true
        Task { [weak self, monitor] in
            for await path in monitor.satisfied {
                if path, !first { await self?.reader?.networkChanged() }
                first = false
            }
        }
    }

    func phase(_ phase: ScenePhase) {
        guard let reader else { return }
        switch phase {
        case .active:
            reader.appeared(inForeground: true, isActive: true)
            Task { await reader.enterForeground() }
        case .inactive:
            reader.appeared(inForeground: true, isActive: false)
        case .background:
            // At once, before the system takes the screen away; publishing follows in the time it grants.
            reader.appeared(inForeground: false, isActive: false)
            BackgroundWork.whileGranted { await reader.enterBackground() }
            BackgroundWork.schedule()
        @unknown default:
            break
        }
    }

    /// Woken by the system to publish what was left.
    func publishInBackground() async {
        open()
        await reader?.publishInBackground()
        BackgroundWork.schedule()
    }
}

extension NWPathMonitor {
    /// Whether there is a usable network, whenever that may have changed.
    fileprivate var satisfied: AsyncStream<Bool> {
        AsyncStream { continuation in
            pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
            continuation.onTermination = { [weak self] _ in self?.cancel() }
            start(queue: .global(qos: .utility))
        }
    }
}
