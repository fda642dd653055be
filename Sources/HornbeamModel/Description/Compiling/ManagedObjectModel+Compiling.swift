internal import HornbeamThreads

extension ManagedObjectModel {
    /// Checks the definition and resolves every name in it.
    ///
    /// - Throws: `HornbeamError` with code `invalidModel`; each problem is one of its details.
    public convenience init(_ definition: ModelDefinition) throws {
        try self.init(definition, notes: [])
    }

    /// A model with the notes of the reader of its file. Shares the entities of an equal model that was compiled recently.
    package convenience init(_ definition: ModelDefinition, notes: [ModelIssue]) throws {
        if let known = Self.recentModels.withLock({ $0.first { $0.definition == definition } }) {
            self.init(known.definition, compiled: known.entities, notes: notes)
            return
        }
        var compiler = ModelCompiler(definition)
        self.init(definition, compiled: try compiler.compile(), notes: notes)
        compiler.resolve(entities, in: self)
        try compiler.checkRequests(in: self)
        Self.recentModels.withLock { last in
            if last.count == Self.recentModelsMax { last.removeFirst() }
            last.append(self)
        }
    }

    /// The most recently compiled models. A model with an equal definition shares the entities of one of them: comparing two definitions
    /// takes a tenth of the time of compiling, and compiled entities are never freed.
    private static let recentModels = Guarded<[ManagedObjectModel]>([])
    private static let recentModelsMax = 8
}
