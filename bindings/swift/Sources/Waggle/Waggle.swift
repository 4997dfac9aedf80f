import WaggleGenerated

/// The library as a whole.
public enum Waggle {
    /// Version of the core this package was built with.
    public static var version: String { coreVersion() }
}
