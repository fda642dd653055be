public import HornbeamModel

// Getters show zeros where the store cannot be read. The context remembers it and says so at its next fetch, count and save.

extension ManagedObjectContext {
    /// What getters could not read since the last `acknowledgeReadFailures()`: the first hundred errors, each with its object.
    public var readFailures: [HornbeamError] { failures.unacknowledged }

    /// Lets fetches, counts and saves go on after a getter could not read a value.
    ///
    /// Until this is called they throw, since what the program computed from the zeros that the getter gave may be wrong. `reset()` does
    /// the same, and so does refreshing the objects concerned. An object that could not be read stays failed until it is refreshed, and a
    /// save of changes to it throws.
    /// - Returns: What `readFailures` named.
    @discardableResult
    public func acknowledgeReadFailures() -> [HornbeamError] { failures.acknowledge() }

    /// - Throws: What this context or one above could not read and has not reported.
    func requireNoReadFailures() throws {
        if failures.unacknowledgedCount > 0 { throw readFailureError }
        try parent?.requireNoReadFailures()
    }

    private var readFailureError: HornbeamError {
        let details = failures.unacknowledged
        let count = failures.unacknowledgedCount
        return HornbeamError(
            details.first?.code ?? .general,
            "\(count == 1 ? "A value" : "\(count) values") could not be read, and the getter gave zero or nothing instead: what was computed "
                + "from it may be wrong. See the details. Call acknowledgeReadFailures() to go on, or reset().",
            entity: details.first?.entity, objectIDs: details.flatMap(\.objectIDs), details: details)
    }

    func noteFailure(_ error: any Error, of object: ManagedObject) {
        var error = error as? HornbeamError
            ?? HornbeamError(.general, "Reading an object failed.", cause: "\(error)", underlyingError: error)
        if error.objectIDs.isEmpty { error.objectIDs = [object.objectID] }
        if error.entity == nil { error.entity = object.scope.entity.name }
        failures.add(error, of: object.objectID)
    }

    /// Why the object could not be read; nil when it could.
    func failure(of object: ManagedObject) -> HornbeamError? {
        object.state.contains(.failed) ? failures.reason(of: object.objectID) : nil
    }

    /// Runs a read, and throws what it could not read here or above. What is thrown is not reported again.
    func throwingFailures<Result>(of read: () throws -> Result) throws -> Result {
        let (total, count) = (failures.total, failures.unacknowledgedCount)
        let result: Result
        if let parent { result = try parent.throwingFailures(of: read) } else { result = try read() }
        guard failures.total != total, let failure = failures.last else { return result }
        failures.withdraw(since: count)
        throw failure
    }

    /// The result of a read that no getter asked for; nil, and noted, where it fails. That a store was removed is no failure.
    func noting<Result>(_ object: ManagedObject, _ read: () throws -> Result?) -> Result? {
        do { return try read() } catch {
            if (error as? HornbeamError)?.code != .closed { noteFailure(error, of: object) }
            return nil
        }
    }
}
