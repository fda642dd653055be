/// One way of testing a store with faults.
///
/// A mode is a type without instances. A round depends on its seed alone. To add a mode, conform to this protocol, and add the
/// type to `CrashHarness.modes`.
protocol Mode {
    /// The name on the command line.
    static var name: String { get }
    /// One line of the usage text.
    static var summary: String { get }
    /// The figure that `--count` limits, such as "crash images". `Run.beginCase` increments it.
    static var unit: String { get }
    /// The options that only this mode reads, from `HarnessOptions.extras`.
    static var extras: [String] { get }

    /// Executes one round. Before each case, it passes the name of the case to `run.beginCase`. Equal seeds make equal rounds.
    ///
    /// Throws if a case fails. It must rethrow errors of `beginCase`.
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
