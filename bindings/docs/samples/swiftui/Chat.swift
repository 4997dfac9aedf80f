// Waggle in a SwiftUI app that already exists. The marked regions are the blocks of ../../howto.md.

import Foundation
import Observation
import SwiftUI
import Waggle

// howto: swiftui-open
/// One for the whole app, made when the person opens chat for the first time.
@MainActor @Observable final class Chat {
    private(set) var session: Session?
    private(set) var failure: Failure?
    private var client: WaggleClient?
    private var lifecycle: SessionLifecycle?

    func open(folder: URL, key: String, community: String) async {
        do throws(ClientError) {
            let configuration = ClientConfig(dataDir: folder.path(percentEncoded: false), mode: .app)
            let client = try WaggleClient(configuration: configuration)
            self.client = client
            try await client.signIn(key: key)
            await start(try client.session(host: community))
        } catch {
            failure = error.failure
        }
    }

    private func start(_ session: Session) async {
        do throws(SessionError) {
            // Returns when what this device holds can be read; connecting goes on by itself.
            try await session.start()
            self.session = session
            lifecycle = SessionLifecycle(session: session)
            // Counts what is unread. If it cannot, the counts say so themselves.
            try? await session.ensure()
        } catch {
            failure = error.failure
        }
    }
    // howto: end

    // howto: swiftui-life
    /// From `.onChange(of: scenePhase)` of the app's scene.
    func phase(_ phase: ScenePhase) {
        Task {
            switch phase {
            case .background: await lifecycle?.enterBackground()
            case .active: await lifecycle?.enterForeground()
            default: break
            }
        }
    }
    // howto: end
}

// howto: swiftui-sidebar
/// The channel list. Rows come ready to draw, in drawing order; VoiceOver reads what the core says.
struct Channels: View {
    let session: Session
    @State private var rows: [SidebarRow] = []

    var body: some View {
        List {
            ForEach(rows, id: \.channel) { row in
                HStack {
                    Text(verbatim: row.name).fontWeight(row.strong ? .bold : .regular)
                    Spacer()
                    if row.dot { Circle().fill(.tint).frame(width: 9, height: 9) }
                }
                .accessibilityElement(children: .ignore)
                .accessibilityLabel(Text(verbatim: row.accessibleName))
            }
        }
        .task { [session] in
            for await sidebar in session.sidebar { rows = sidebar.rows }
        }
    }
}
// howto: end

// howto: swiftui-timeline
/// A channel. It opens when it appears, and everything it opened ends with its task.
struct Messages: View {
    let session: Session
    let channel: ChannelId
    @State private var snapshot: TimelineSnapshot?
    @State private var failure: Failure?
    @State private var visible = VisibleRows()

    var body: some View {
        ScrollView {
            LazyVStack(alignment: .leading) {
                ForEach(snapshot?.rows ?? [], id: \.id) { row in
                    Text(verbatim: "\(row.authorName): \(row.text)")
                        .onGeometryChange(for: CGRect.self, of: { $0.frame(in: .named("messages")) }) { visible.place(row.id, $0) }
                        .onDisappear { visible.remove(row.id) }
                }
            }
        }
        .coordinateSpace(.named("messages"))
        .onGeometryChange(for: CGFloat.self, of: { $0.size.height }) { visible.height = $0 }
        .overlay { if let failure { Text(failure.sentence) } }
        .task(id: channel) { await show() }
    }

    private func show() async {
        do throws(SessionError) {
            let timeline = try await session.timeline(channel, utcOffset: Int32(TimeZone.current.secondsFromGMT()))
            let surface = try await session.surface(channel)
            visible.surface = surface
            for await snapshot in timeline.rows {
                self.snapshot = snapshot
                visible.newest = snapshot.rows.last?.id
            }
            surface.close()
            try await timeline.close()
        } catch {
            failure = error.failure
        }
    }
}
// howto: end

// howto: swiftui-visible
/// Reports which rows show in full, when nothing has moved for a moment. What was read, the core decides.
@MainActor final class VisibleRows {
    var surface: (any WaggleSurface)?
    var height = 0.0
    var newest: EventId?
    private var frames: [EventId: CGRect] = [:]
    private var told: Viewport?
    private var rest: Task<Void, Never>?

    func place(_ row: EventId, _ frame: CGRect) {
        frames[row] = frame
        moved()
    }

    func remove(_ row: EventId) {
        frames[row] = nil
        moved()
    }

    private func moved() {
        report(settled: false)
        rest?.cancel()
        rest = Task {
            try? await Task.sleep(for: .milliseconds(100))
            if !Task.isCancelled { report(settled: true) }
        }
    }

    private func report(settled: Bool) {
        let inside = frames.filter { $0.value.maxY > 0 && $0.value.maxY <= height }.sorted { $0.value.minY < $1.value.minY }
        let full = inside.filter { $0.value.minY >= 0 }.map(\.key)
        let bottom = newest.flatMap { newest in inside.contains { $0.key == newest } ? newest : nil }
        let viewport = Viewport(active: true, settled: settled, visible: settled ? full : [], bottom: settled ? bottom : nil)
        if viewport != told {
            told = viewport
            try? surface?.report(viewport)
        }
    }
}
// howto: end
