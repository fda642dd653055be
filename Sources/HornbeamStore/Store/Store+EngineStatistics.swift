package import HornbeamEngine

extension Store {
    /// The engine's statistics: commits, syncs, bytes and pages.
    package func engineStatistics() throws -> EngineStatistics {
        try EngineError.translated { () throws(EngineError) in try engine.statistics() }
    }

    /// Prints the structure of the trees line by line: entries, layouts, inner pages, and leaves if `leaves` is true.
    package func dumpStructure(leaves: Bool = false, to line: (String) -> Void) throws {
        try EngineError.translated { () throws(EngineError) in try engine.dump(leaves: leaves, to: line) }
    }
}
