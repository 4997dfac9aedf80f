import SwiftUI
import Waggle
import WaggleKit

/// The channel list.
struct SidebarView: View {
    let reader: ReaderModel
    let community: CommunityModel

    var body: some View {
        ScrollViewReader { proxy in
            Group {
                if let failure = community.failure {
                    FailureView(failure: failure) { community.start() }
                } else if let groups = community.sidebar.groups {
                    SidebarList(groups: groups, community: community, sidebar: community.sidebar)
                } else {
                    ProgressView("Opening…")
                }
            }
            .onChange(of: community.sidebar.goal) { _, goal in
                guard let goal else { return }
                withAnimation { proxy.scrollTo(goal, anchor: .center) }
                community.sidebar.arrived()
            }
        }
        .navigationTitle(community.host)
        .navigationBarTitleDisplayMode(.inline)
        .toolbar { tools }
        .safeAreaInset(edge: .top, spacing: 0) {
            ConnectivityBar(
                connectivity: community.connectivity, isCached: community.sidebar.isCached,
                connect: { Task { await community.reconnect() } }, diagnose: { community.sheet = .diagnostics(nil) })
        }
    }

    @ToolbarContentBuilder private var tools: some ToolbarContent {
        ToolbarItem(placement: .topBarLeading) {
            Button("Communities", systemImage: "person.2") { community.sheet = .communities }
        }
        ToolbarItem(placement: .topBarTrailing) {
            Button("Mark all read", systemImage: "checkmark.circle") { community.question = .markAllRead }
        }
        ToolbarItem(placement: .topBarTrailing) {
            Button("Diagnostics", systemImage: "stethoscope") { community.sheet = .diagnostics(nil) }
        }
    }
}

private struct SidebarList: View {
    let groups: [SidebarGroup]
    let community: CommunityModel
    @Bindable var sidebar: SidebarModel

    nonisolated private static let space = "sidebar"

    var body: some View {
        List {
            ForEach(groups) { group in
                Section(isExpanded: $sidebar.folding[shows: group.id]) {
                    ForEach(group.rows, id: \.channel) { row in
                        SidebarRowView(row: row, community: community)
                            .onGeometryChange(for: Span.self, of: { Span($0.frame(in: .named(Self.space))) }) {
                                sidebar.place(row.channel, top: $0.top, bottom: $0.bottom)
                            }
                            .onDisappear { sidebar.remove(row.channel) }
                    }
                } header: {
                    Text(title(group.section))
                        .onGeometryChange(for: Span.self, of: { Span($0.frame(in: .named(Self.space))) }) {
                            sidebar.place(group.id, top: $0.top, bottom: $0.bottom)
                        }
                        .onDisappear { sidebar.remove(group.id) }
                }
            }
        }
        .listStyle(.sidebar)
        .coordinateSpace(.named(Self.space))
        .onGeometryChange(for: CGFloat.self, of: { $0.size.height }) { sidebar.resize(height: $0) }
        .refreshable { [community] in await community.refresh() }
        .overlay { if groups.isEmpty { ContentUnavailableView("No channels yet", systemImage: "number") } }
        .overlay(alignment: .top) { CueButton(cue: sidebar.cues?.above, symbol: "arrow.up", sidebar: sidebar) }
        .overlay(alignment: .bottom) {
            CueButton(cue: sidebar.cues?.below, symbol: "arrow.down", sidebar: sidebar)
        }
    }

    private func title(_ section: SidebarSection) -> LocalizedStringKey {
        switch section {
        case .promoted: "Pinned"
        case .channels: "Channels"
        case .directMessages: "Direct messages"
        case .solo: "Solo"
        case .open: "Open channels"
        case .archived: "Archived"
        }
    }
}

/// One conversation.
struct SidebarRowView: View {
    let row: SidebarRow
    let community: CommunityModel

    var body: some View {
        NavigationLink(value: Place.channel(row.channel)) {
            HStack {
                Image(systemName: symbol).foregroundStyle(.secondary)
                Text(verbatim: row.name)
                    .fontWeight(row.strong ? .bold : .regular)
                    .foregroundStyle(row.archived || !row.joined ? .secondary : .primary)
                Spacer()
                if row.bell { Image(systemName: "bell.slash").foregroundStyle(.secondary) }
                if row.dot { Dot() }
            }
            .accessibilityElement(children: .ignore)
            .accessibilityLabel(Text(verbatim: row.accessibleName))
        }
        .swipeActions(edge: .leading) {
            Button("Mark read", systemImage: "checkmark") { community.markRead(row.channel) }.tint(.accentColor)
        }
        .swipeActions(edge: .trailing) {
            Button(muteTitle, systemImage: row.muted ? "bell" : "bell.slash") { community.mute(row.channel, !row.muted) }
        }
        .contextMenu {
            Button("Mark read", systemImage: "checkmark") { community.markRead(row.channel) }
            Button("Mark unread", systemImage: "circle.fill") { community.markUnread(row.channel) }
            Button(muteTitle, systemImage: row.muted ? "bell" : "bell.slash") { community.mute(row.channel, !row.muted) }
            if row.threads > 0 {
                Button("Threads", systemImage: "bubble.left.and.bubble.right") { community.sheet = .activity(row.channel) }
            }
        }
    }

    private var muteTitle: LocalizedStringKey { row.muted ? "Unmute" : "Mute" }

    private var symbol: String {
        switch row.channelType {
        case .dm: row.participants.count > 1 ? "person.2" : "person"
        case .forum: "list.bullet.rectangle"
        case .workflow: "gearshape"
        case .stream, .unknown: "number"
        }
    }
}

/// What lies beyond an edge. It scrolls there, and opens and reads nothing.
private struct CueButton: View {
    let cue: Cue?
    let symbol: String
    let sidebar: SidebarModel

    var body: some View {
        if let cue, cue.count > 0 {
            Button {
                sidebar.follow(cue)
            } label: {
                Label("\(cue.count) unread", systemImage: symbol).font(.footnote.bold())
            }
            .buttonStyle(.borderedProminent)
            .buttonBorderShape(.capsule)
            .tint(cue.attention ? .accentColor : .secondary)
            .padding()
            .accessibilityLabel(Text(verbatim: cue.accessibleName))
        }
    }
}
