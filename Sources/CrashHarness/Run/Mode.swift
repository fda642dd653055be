/// One way of trying to break a store.
///
/// A mode is a type without instances: all that a round needs follows from its seed. To add one, conform, and add the
/// type to `CrashHarness.modes`.
protocol Mode {
    /// The word on the command line.
    static var name: String { get }
    /// One line of the usage text.
    static var summary: String { get }
    /// The figure that `--count` counts, such as "crash images"; `Run.trying` adds to it.
    static var unit: String { get }
    /// The further options that the mode reads from `HarnessOptions.extras`.
    static var extras: [String] { get }

    /// Does one round, naming each case by `run.trying` before it is tried. The same seed does the same.
    ///
    /// Throws whatever shows that a case went wrong; what `trying` throws must pass through.
    static func round(_ seed: UInt64, _ run: Run) throws
}

extension Mode {
    static var extras: [String] { [] }
}

/// Something that a mode found: what was promised and not kept.
struct Finding: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
