package import HornbeamEngine

extension Store {
    /// Commits, syncs, bytes and pages: the figures of the engine below.
    package func engineStatistics() throws -> EngineStatistics {
        try EngineError.translated { () throws(EngineError) in try engine.statistics() }
    }
}
