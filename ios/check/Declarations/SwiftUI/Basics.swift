// SwiftUI's API as far as the app uses it, with the signatures Apple documents, so that every view is type-checked where there is no SwiftUI.
// Nothing of it does anything.

@_exported import Foundation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
    public typealias Body = Never
    public var body: Never { fatalError("declared only") }
}

extension View where Body == Never {
    public var body: Never { fatalError("declared only") }
}

public struct EmptyView: View {
    public typealias Body = Never
    nonisolated public init() {}
}

public struct TupleView<T>: View {
    public typealias Body = Never
    nonisolated init() {}
}

public struct _ConditionalContent<TrueContent, FalseContent> {
    nonisolated init() {}
}

extension _ConditionalContent: View where TrueContent: View, FalseContent: View {
    public typealias Body = Never
}

extension Optional: View where Wrapped: View {
    public typealias Body = Never
}

@resultBuilder public struct ViewBuilder {
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> {
        TupleView()
    }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<T: View, F: View>(first: T) -> _ConditionalContent<T, F> { _ConditionalContent() }
    public static func buildEither<T: View, F: View>(second: F) -> _ConditionalContent<T, F> { _ConditionalContent() }
}

// MARK: State

@propertyWrapper public struct State<Value> {
    public init(wrappedValue value: Value) { wrappedValue = value }
    public init(initialValue value: Value) { wrappedValue = value }
    public var wrappedValue: Value { get { value } nonmutating set {} }
    public var projectedValue: Binding<Value> { fatalError("declared only") }
    private var value: Value { fatalError("declared only") }
}

extension State: Sendable where Value: Sendable {}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    private init(declared: Never) {}
    public var wrappedValue: Value { get { fatalError("declared only") } nonmutating set {} }
    public var projectedValue: Binding<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        fatalError("declared only")
    }
}

@propertyWrapper @dynamicMemberLookup public struct Bindable<Value> {
    private let value: Value
    fileprivate init(value: Value) { self.value = value }
    @available(*, unavailable, message: "The wrapped value must be an object that conforms to Observable")
    public init(wrappedValue: Value) { fatalError("declared only") }
    public var wrappedValue: Value { get { value } set {} }
    public var projectedValue: Bindable<Value> { self }
}

extension Bindable where Value: AnyObject {
    public init(wrappedValue: Value) { self.init(value: wrappedValue) }
    public init(_ wrappedValue: Value) { self.init(value: wrappedValue) }
    public subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject> {
        fatalError("declared only")
    }
}

@propertyWrapper public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError("declared only") }
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { .active }
    public var locale: Locale { .current }
    public var dismiss: DismissAction { DismissAction() }
}

@MainActor @preconcurrency public struct DismissAction {
    nonisolated init() {}
    public func callAsFunction() {}
}

@propertyWrapper public struct ScaledMetric<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public let wrappedValue: Value
}

@MainActor @preconcurrency public func withAnimation<Result>(
    _ animation: Animation? = .default, _ body: () throws -> Result
) rethrows -> Result {
    try body()
}

public struct Animation: Sendable {
    public static let `default` = Animation()
}

// MARK: App and scenes

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
    @MainActor @preconcurrency init()
}

extension App {
    @MainActor @preconcurrency public static func main() {}
}

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

extension Scene where Body == Never {
    public var body: Never { fatalError("declared only") }
}

@resultBuilder public struct SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup<Content: View>: Scene {
    public typealias Body = Never
    nonisolated public init(@ViewBuilder content: @escaping () -> Content) {}
}

public enum ScenePhase: Comparable, Hashable, Sendable {
    case background, inactive, active
}

public struct BackgroundTask<Request, Response>: Sendable {}

extension BackgroundTask {
    public static func appRefresh(_ identifier: String) -> BackgroundTask<Void, Void> where Request == Void, Response == Void {
        BackgroundTask<Void, Void>()
    }
}

extension Scene {
    nonisolated public func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping (_ oldValue: V, _ newValue: V) -> Void
    ) -> some Scene { self }
    nonisolated public func backgroundTask<D: Sendable, R: Sendable>(
        _ task: BackgroundTask<D, R>, action: @escaping @Sendable (D) async -> R
    ) -> some Scene { self }
}
