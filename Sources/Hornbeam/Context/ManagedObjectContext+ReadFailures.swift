public import HornbeamModel

// Getters return zeros if the store cannot be read. The context records the error, and its next fetch, count and save throw it.

extension ManagedObjectContext {
    /// The errors of getters since the last `acknowledgeReadFailures()`: the first hundred, each with its object.
    public var readFailures: [HornbeamError] { failures.unacknowledged }

    /// Allows fetches, counts and saves again after a getter could not read a value.
    ///
    /// Until this call they throw, because values that the program computed from the zeros may be wrong. `reset()`, and refreshing the affected
    /// objects, have the same effect. An object that could not be read stays failed until it is refreshed, and a
    /// save of its changes throws.
    /// - Returns: The errors of `readFailures`.
    @discardableResult
    public func acknowledgeReadFailures() -> [HornbeamError] { failures.acknowledge() }

    /// - Throws: Unreported read failures of this context or an ancestor.
    func requireNoReadFailures() throws {
        if failures.unacknowledgedCount > 0 { throw readFailureError }
        try parent?.requireNoReadFailures()
    }

    private var readFailureError: HornbeamError {
        let details = failures.unacknowledged
        let count = failures.unacknowledgedCount
        return HornbeamError(
            details.first?.code ?? .general,
            "\(count == 1 ? "A value" : "\(count) values") could not be read, and the getter returned zero or nil instead: values computed "
                + "from it may be wrong. See the details. Call acknowledgeReadFailures() to continue, or reset().",
            entity: details.first?.entity, objectIDs: details.flatMap(\.objectIDs), details: details)
    }

    func recordFailure(_ error: any Error, of object: ManagedObject) {
        var error = error as? HornbeamError
            ?? HornbeamError(.general, "Reading an object failed.", cause: "\(error)", underlyingError: error)
        if error.objectIDs.isEmpty { error.objectIDs = [object.objectID] }
        if error.entity == nil { error.entity = object.scope.entity.name }
        failures.add(error, of: object.objectID)
    }

    /// The error of reading an object; nil if it was read.
    func failure(of object: ManagedObject) -> HornbeamError? {
        object.state.contains(.failed) ? failures.reason(of: object.objectID) : nil
    }

    /// Runs a read and throws the read failures that it adds to this context or an ancestor. They are not reported again.
    func throwingFailures<Result>(of read: () throws -> Result) throws -> Result {
        let (total, count) = (failures.total, failures.unacknowledgedCount)
        let result: Result
        if let parent { result = try parent.throwingFailures(of: read) } else { result = try read() }
        guard failures.total != total, let failure = failures.last else { return result }
        failures.removeThrown(since: count)
        throw failure
    }

    /// Runs a read outside a getter. If it fails, records the failure and returns nil. A removed store is not a failure.
    func recordingFailure<Result>(_ object: ManagedObject, _ read: () throws -> Result?) -> Result? {
        do { return try read() } catch {
            if (error as? HornbeamError)?.code != .closed { recordFailure(error, of: object) }
            return nil
        }
    }
}
