import SwiftUI
import UIKit
import WaggleKit

/// Pastes a key, or makes a new one.
struct SignInView: View {
    let reader: ReaderModel
    @State private var key = ""

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    SecureField("Key (nsec1…)", text: $key)
                        .textContentType(.password)
                        .autocorrectionDisabled()
                        .textInputAutocapitalization(.never)
                    Button("Sign in") {
                        reader.signIn(key: key)
                        key = ""
                    }
                    .disabled(key.isEmpty || reader.isBusy)
                } header: {
                    Text("Your key")
                } footer: {
                    Text("It stays in this device's Keychain.")
                }
                Section {
                    Button("Create a new account") { reader.createAccount() }
                        .disabled(reader.isBusy)
                }
                FailureSection(reader: reader)
            }
            .navigationTitle("Waggle")
        }
    }
}

/// Shows a new account's key, once.
struct BackupView: View {
    let key: BackupKey
    let done: @MainActor () -> Void
    @State private var isKept = false

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    KeyText(key: key)
                } header: {
                    Text("Keep this key")
                } footer: {
                    Text("It is your account: nobody can give it back to you. Keep it in a password manager.")
                }
                Section {
                    Toggle("I have kept it", isOn: $isKept)
                    Button("Go on", action: done).disabled(!isKept)
                }
            }
            .navigationTitle("Your new account")
        }
    }
}

/// A key that can be copied. The clipboard forgets it and does not leave this device.
struct KeyText: View {
    let key: BackupKey

    var body: some View {
        Text(verbatim: key.text)
            .font(.footnote.monospaced())
            .privacySensitive()
            .accessibilityLabel("Secret key")
        Button("Copy", systemImage: "doc.on.doc") { Clipboard.copySecret(key.text) }
    }
}

/// Adds a community by its address, or goes to one that was added.
struct AddCommunityView: View {
    let reader: ReaderModel
    @State private var address = ""

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    TextField("wss://community.example", text: $address)
                        .textContentType(.URL)
                        .keyboardType(.URL)
                        .autocorrectionDisabled()
                        .textInputAutocapitalization(.never)
                        .onSubmit(add)
                    Button("Open", action: add).disabled(address.isEmpty || reader.isBusy)
                } header: {
                    Text("Add a community")
                }
                if !reader.communities.isEmpty {
                    Section {
                        ForEach(reader.communities, id: \.self) { host in
                            Button(host) { reader.switchTo(host) }.disabled(reader.isBusy)
                        }
                    } header: {
                        Text("Communities")
                    }
                }
                FailureSection(reader: reader)
                Section {
                    Button("Sign out", role: .destructive) { reader.signOut() }.disabled(reader.isBusy)
                }
            }
            .navigationTitle("Communities")
        }
    }

    private func add() {
        if !address.isEmpty { reader.addCommunity(address) }
    }
}

/// What a call failed with, in a form.
struct FailureSection: View {
    let reader: ReaderModel

    var body: some View {
        if reader.isBusy {
            ProgressView().frame(maxWidth: .infinity)
        }
        if let failure = reader.failure {
            Section {
                Label(failure.sentence, systemImage: "exclamationmark.triangle")
                Button("All right") { reader.seen() }
            }
        }
    }
}

/// The clipboard.
@MainActor enum Clipboard {
    static func copy(_ text: String) {
        UIPasteboard.general.string = text
    }

    /// For a minute, and on this device only.
    static func copySecret(_ text: String) {
        UIPasteboard.general.setItems(
            [["public.utf8-plain-text": text]],
            options: [.localOnly: true, .expirationDate: Date(timeIntervalSinceNow: 60)])
    }
}
