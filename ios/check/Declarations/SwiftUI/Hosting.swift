// SwiftUI inside UIKit.

public import UIKit

@MainActor open class UIHostingController<Content: View>: UIViewController {
    public init(rootView: Content) {
        super.init()
    }
}
