import SwiftUI
import WaggleKit

/// The reader. The system's word about the app's life goes to the model, in order.
@main struct ReaderApp: App {
    @Environment(\.scenePhase) private var phase
    @State private var installation = Installation()

    var body: some Scene {
        WindowGroup {
            RootView(installation: installation)
        }
        .onChange(of: phase) { _, phase in
            installation.phase(phase)
        }
        .backgroundTask(.appRefresh(BackgroundWork.identifier)) {
            await installation.publishInBackground()
        }
    }
}

/// What fills the window.
struct RootView: View {
    let installation: Installation

    var body: some View {
        switch installation.state {
        case .failure(let failure):
            FailureView(failure: failure) { installation.open() }
        case .reader(let reader):
            StageView(reader: reader)
        case .unopened:
            ProgressView().task { installation.open() }
        }
    }
}

private struct StageView: View {
    let reader: ReaderModel

    var body: some View {
        switch reader.stage {
        case .opening: ProgressView("Opening…")
        case .signIn: SignInView(reader: reader)
        case .backup(let key): BackupView(key: key) { reader.backedUp() }
        case .addCommunity: AddCommunityView(reader: reader)
        case .community(let community): CommunityView(reader: reader, community: community).id(community.id)
        }
    }
}
