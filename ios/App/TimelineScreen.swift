import SwiftUI
import Waggle
import WaggleKit

/// A channel's or thread's messages. Where its rows lie goes to the model; what follows from that is not decided here.
struct TimelineScreen: View {
    let place: Place
    let community: CommunityModel
    let model: TimelineModel
    @State private var top: String?
    @Environment(\.locale) private var locale

    nonisolated private static let space = "timeline"

    var body: some View {
        Group {
            if model.status != nil {
                ScrollViewReader { proxy in
                    list.onChange(of: model.goal) { _, goal in
                        guard let goal else { return }
                        withAnimation { proxy.scrollTo(goal.item, anchor: goal.atTop ? .top : .bottom) }
                        model.arrived()
                    }
                }
            } else if let failure = model.failure {
                FailureView(failure: failure) { model.tryAgain() }
            } else {
                ProgressView("Opening…")
            }
        }
        .navigationTitle(title)
        .navigationBarTitleDisplayMode(.inline)
        .toolbar { tools }
        .safeAreaInset(edge: .top, spacing: 0) {
            ConnectivityBar(
                connectivity: community.connectivity, isCached: model.status?.restored ?? false,
                connect: { Task { await community.reconnect() } }, diagnose: { community.sheet = .diagnostics(place) })
        }
        .safeAreaInset(edge: .bottom, spacing: 0) { footer }
    }

    private var list: some View {
        ScrollView {
            LazyVStack(alignment: .leading, spacing: 0) {
                ForEach(model.items) { item in
                    TimelineItemView(item: item, place: place, community: community, model: model, formats: formats)
                        .onGeometryChange(for: Span.self, of: { Span($0.frame(in: .named(Self.space))) }) {
                            model.geometry.place(item.id, id: item.message, top: $0.top, bottom: $0.bottom)
                        }
                        .onDisappear { model.geometry.remove(item.id) }
                }
            }
            .scrollTargetLayout()
            .onGeometryChange(for: CGFloat.self, of: { $0.frame(in: .named(Self.space)).maxY }) { model.geometry.endsAt($0) }
        }
        .coordinateSpace(.named(Self.space))
        .defaultScrollAnchor(model.root == nil ? .bottom : .top)
        // Keeps the same row at the upper edge while older ones come in above.
        .scrollPosition(id: $top, anchor: .top)
        .onGeometryChange(for: CGFloat.self, of: { $0.size.height }) { model.geometry.resize(height: $0) }
        .refreshable { [community] in await community.refresh() }
        .overlay(alignment: .bottomTrailing) { jumps }
        .overlay { if model.items.isEmpty { ContentUnavailableView("No messages yet", systemImage: "bubble.left") } }
    }

    @ViewBuilder private var footer: some View {
        if let failure = model.failure, model.status != nil {
            FailureRow(failure: failure) { model.tryAgain() }
        } else if let failure = model.status?.error {
            FailureRow(failure: failure) { Task { await community.refresh() } }
        }
    }

    private var jumps: some View {
        VStack(alignment: .trailing) {
            if model.canJumpToFirstUnread {
                Button("First unread", systemImage: "arrow.up") { model.jumpToFirstUnread() }.disabled(model.isLoading)
            }
            if !model.isAtEnd {
                Button("Latest", systemImage: "arrow.down") { model.jumpToLatest() }
            }
        }
        .buttonStyle(.bordered)
        .buttonBorderShape(.capsule)
        .font(.footnote)
        .padding()
    }

    @ToolbarContentBuilder private var tools: some ToolbarContent {
        ToolbarItem(placement: .topBarTrailing) {
            // A menu of the system's would tell nobody that it lies over the rows; a question does.
            Button("More", systemImage: "ellipsis.circle") { community.question = .place(place) }
        }
    }

    private var title: String {
        model.root == nil ? community.sidebar.row(model.channel)?.name ?? "" : "Thread"
    }

    private var formats: Formats {
        Formats(locale: locale, utcOffset: model.utcOffset)
    }
}
