/// One way of testing a store with faults.
///
/// A mode is a type without instances: a round is derived from its seed alone. To add a mode, conform to this protocol, and add the
/// type to `CrashHarness.modes`.
protocol Mode {
    /// The name on the command line.
    static var name: String { get }
    /// One line of the usage text.
    static var summary: String { get }
    /// The figure that `--count` limits, such as "crash images"; `Run.trying` adds to it.
    static var unit: String { get }
    /// The further options that the mode reads from `HarnessOptions.extras`.
    static var extras: [String] { get }

    /// Executes one round, and passes the name of each case to `run.trying` first. Equal seeds give equal rounds.
    ///
    /// Throws when a case fails; errors of `trying` must be passed on.
    static func round(_ seed: UInt64, _ run: Run) throws
}

extension Mode {
    static var extras: [String] { [] }
}

/// A violated guarantee that a mode found.
struct Finding: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
