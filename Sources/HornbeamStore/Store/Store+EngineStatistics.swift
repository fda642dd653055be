package import HornbeamEngine

extension Store {
    /// Commits, syncs, bytes and pages: the figures of the engine below.
    package func engineStatistics() throws -> EngineStatistics {
        try EngineError.translated { () throws(EngineError) in try engine.statistics() }
    }

    /// The structure of the trees as text, line by line: entries, layouts, inner pages, and leaves if asked for.
    package func dumpStructure(leaves: Bool = false, to line: (String) -> Void) throws {
        try EngineError.translated { () throws(EngineError) in try engine.dump(leaves: leaves, to: line) }
    }
}
