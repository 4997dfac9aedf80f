import SwiftUI
import Waggle
import WaggleKit

/// A channel's threads with unread replies.
struct ActivityView: View {
    let community: CommunityModel
    let channel: ChannelId
    @State private var model: ActivityModel
    @Environment(\.locale) private var locale

    init(community: CommunityModel, channel: ChannelId) {
        self.community = community
        self.channel = channel
        _model = State(initialValue: ActivityModel(community, channel: channel))
    }

    var body: some View {
        List {
            ForEach(model.items ?? [], id: \.root) { item in
                Button {
                    community.open(.thread(channel, root: item.root))
                } label: {
                    VStack(alignment: .leading) {
                        Text(verbatim: item.text).lineLimit(3)
                        HStack {
                            Text(verbatim: formats.dayAndTime(item.createdAt))
                            Spacer()
                            Text(verbatim: item.count == 1 ? "1 unread reply" : "\(formats.count(item.count)) unread replies")
                        }
                        .font(.caption)
                        .foregroundStyle(.secondary)
                    }
                }
            }
        }
        .overlay {
            if let failure = model.failure {
                FailureView(failure: failure) { Task { await model.follow() } }
            } else if model.items == nil {
                ContentUnavailableView("Nothing is known yet", systemImage: "bubble.left.and.bubble.right")
            } else if model.items?.isEmpty == true {
                ContentUnavailableView("No unread replies", systemImage: "bubble.left.and.bubble.right")
            }
        }
        .navigationTitle("Threads")
        .toolbar { DoneButton() }
        .task { await model.follow() }
    }

    private var formats: Formats {
        Formats(locale: locale, utcOffset: Int32(TimeZone.current.secondsFromGMT()))
    }
}

/// What the core is doing, and within which bounds it knows what it says.
struct DiagnosticsView: View {
    let community: CommunityModel
    let place: Place?
    @State private var log = LogModel()
    @Environment(\.locale) private var locale

    var body: some View {
        List {
            section("This community", facts(community.connectivity, community.sync))
            if let place {
                let model = community.timeline(place)
                section("This timeline", facts(model.status, model.unread))
            }
            Section {
                Button("Publish reading marks now") { community.retrySync() }
                Button("Load everything again") { Task { await community.refresh() } }
            }
            Section {
                ForEach(log.newest) { line in
                    Text(verbatim: "\(formats.stamp(line.line.at)) \(line.line.level) \(line.line.message)")
                        .font(.caption2.monospaced())
                }
            } header: {
                Text("Log")
            } footer: {
                Text("It holds no messages, names, keys or addresses.")
            }
        }
        .navigationTitle("Diagnostics")
        .toolbar { DoneButton() }
        .task { await log.follow() }
    }

    private func section(_ title: LocalizedStringKey, _ facts: [Fact]) -> some View {
        Section {
            ForEach(facts) { fact in
                LabeledContent(fact.name, value: fact.value)
            }
        } header: {
            Text(title)
        }
    }

    private var formats: Formats {
        Formats(locale: locale, utcOffset: Int32(TimeZone.current.secondsFromGMT()))
    }
}

/// Communities and the account.
struct CommunitiesView: View {
    let reader: ReaderModel
    let community: CommunityModel
    @State private var isLeaving = false
    @State private var isSigningOut = false
    @State private var backup: BackupKey?
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        List {
            Section {
                ForEach(reader.communities, id: \.self) { host in
                    Button {
                        dismiss()
                        reader.switchTo(host)
                    } label: {
                        Label(host, systemImage: host == community.host ? "checkmark.circle.fill" : "circle")
                    }
                }
                Button("Add a community", systemImage: "plus") {
                    dismiss()
                    reader.chooseCommunity()
                }
                Button("Leave this community", role: .destructive) { isLeaving = true }
            } header: {
                Text("Communities")
            }
            Section {
                if let account = reader.account {
                    LabeledContent("Account", value: String(account.prefix(12)) + "…")
                }
                if let backup {
                    KeyText(key: backup)
                } else {
                    Button("Show the key, to keep it") { Task { backup = await reader.backupKey() } }
                }
                Button("Sign out", role: .destructive) { isSigningOut = true }
            } header: {
                Text("Account")
            }
            FailureSection(reader: reader)
        }
        .navigationTitle("Communities")
        .toolbar { DoneButton() }
        .confirmationDialog("Leave this community?", isPresented: $isLeaving, titleVisibility: .visible) {
            Button("Leave", role: .destructive) {
                dismiss()
                reader.leaveCommunity()
            }
        } message: {
            Text("This device forgets its messages and reading marks.")
        }
        .confirmationDialog("Sign out?", isPresented: $isSigningOut, titleVisibility: .visible) {
            Button("Sign out", role: .destructive) {
                dismiss()
                reader.signOut()
            }
        } message: {
            Text("This device forgets the key, the reading marks and the messages. Without a copy of the key the account is lost.")
        }
    }
}

/// Ends a sheet.
struct DoneButton: ToolbarContent {
    @Environment(\.dismiss) private var dismiss

    var body: some ToolbarContent {
        ToolbarItem(placement: .confirmationAction) {
            Button("Done") { dismiss() }
        }
    }
}
