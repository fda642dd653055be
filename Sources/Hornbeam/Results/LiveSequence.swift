public import HornbeamModel

extension ManagedObjectContext {
    /// The results of a request: now, and again after each change of them, for `for try await`.
    ///
    /// ```swift
    /// for try await books in context.results(of: FetchRequest<Book>().sorted(by: \.title)) { list.show(books) }
    /// ```
    /// The first element is available immediately. Changes during the loop body are combined into one element. An element follows when other
    /// objects become results, when the order changes, and when the values of a result change, saved or not.
    ///
    /// As in a `FetchedResultsController`, only the changed objects are tested if the request reads attributes of the objects and of the destinations
    /// of to-one relationships. The results are fetched again with a limit, after changes of such destinations, in child contexts, and when the
    /// context processed changes more than once since the last element.
    /// The sequence ends when the task is cancelled, and after an error of a fetch.
    public func results<Object: ManagedObject>(of request: FetchRequest<Object>) -> LiveSequence<[Object]> {
        LiveSequence(self, computations: {
            var results = LiveResults(request, by: nil)
            return { context, changes, last in
                let difference = try results.update(after: changes, in: context, from: last.map { try OrderedResults($0, by: nil).sections })
                return last != nil && difference.isEmpty ? nil : results.sections.flatMap(\.objects)
            }
        })
    }

    /// The number of results of a request: now, and again after each change of the number.
    ///
    /// If the condition reads only attributes of the objects, and of the destinations of to-one relationships, the changed objects are tested and the
    /// results are not counted again; up to 100,000 results, of which the keys are kept. Otherwise, and for dictionaries, they are counted again after
    /// each change of objects of the entities that the request reads, and after each change with a limit.
    public func liveCount<Object: ManagedObject>(of request: FetchRequest<Object>) -> LiveSequence<Int> {
        LiveSequence(self, computations: {
            var counted = LiveCount(request)
            return { context, changes, last in
                let count = try counted.update(after: changes, in: context)
                return count == last ? nil : count
            }
        })
    }

    /// True if a request has results: now, and again when that changes. Updated like `liveCount(of:)`.
    public func liveExistence<Object: ManagedObject>(of request: FetchRequest<Object>) -> LiveSequence<Bool> {
        LiveSequence(self, computations: {
            var counted = LiveCount(request)
            return { context, changes, last in
                let exists = try counted.update(after: changes, in: context) > 0
                return exists == last ? nil : exists
            }
        })
    }

    /// The rows of a selection: now, and again after each change of the rows, for live groups and totals. Fetched again after each change of
    /// objects of the entities that the selection reads.
    public func results<Object: ManagedObject, each Column: AttributeValue>(
        of selection: FetchSelection<Object, repeat each Column>
    ) -> LiveSequence<[(repeat each Column)]> {
        LiveSequence(self, computations: {
            let request = selection.untyped.selectingDictionaries
            var lastRows: [[PropertyValue]]?
            var dependencies: ResultDependencies?
            return { context, changes, _ in
                if lastRows != nil, let dependencies, !changes.mayAffect(dependencies, in: context) { return nil }
                let (rows, places) = try context.selectedRows(selection)
                if dependencies == nil { dependencies = ResultDependencies(try context.validated(request), sectionKeyPath: nil) }
                defer { lastRows = rows }
                return try rows == lastRows ? nil : rows.map { try selection.row($0, at: places) }
            }
        })
    }
}

/// Values computed from a context's objects: now, and again after each change of the value, for `for try await`.
///
/// A sequence is used in the isolation of its context.
public struct LiveSequence<Value>: AsyncSequence {
    public typealias Element = Value
    public typealias Failure = any Error

    /// Computes the value, from the changes since the last call, and from the last value. Nil if the value is unchanged.
    typealias Computation = (ManagedObjectContext, LiveChanges, Value?) throws -> Value?

    let context: ManagedObjectContext
    /// Makes the computation for one iterator. The computation may cache its results.
    let makeComputation: () -> Computation

    init(_ context: ManagedObjectContext, _ compute: @escaping Computation) {
        self.init(context, computations: { compute })
    }

    init(_ context: ManagedObjectContext, computations: @escaping () -> Computation) {
        self.context = context
        makeComputation = computations
    }

    public func makeAsyncIterator() -> Iterator { Iterator(context, makeComputation()) }

    /// Computes the value immediately, and again after each change of the context.
    public struct Iterator: AsyncIteratorProtocol {
        private let context: ManagedObjectContext
        private let compute: Computation
        private let changes = PendingChanges()
        private var signals: AsyncStream<Void>.Iterator
        private var last: Value?
        private var hasComputed = false
        private var isEnded = false

        init(_ context: ManagedObjectContext, _ compute: @escaping Computation) {
            self.context = context
            self.compute = compute
            signals = changes.signals.makeAsyncIterator()
            context.observers.listeners.append { [weak changes] in
                changes?.append($0)
                return changes != nil
            }
        }

        public mutating func next() async throws -> Value? { try await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            while !isEnded {
                if hasComputed, await signals.next(isolation: actor) == nil { break }
                if Task.isCancelled { break }
                hasComputed = true
                do {
                    guard let value = try compute(context, changes.dequeue(), last) else { continue }
                    last = value
                    return value
                } catch {
                    isEnded = true
                    throw error
                }
            }
            isEnded = true
            return nil
        }
    }
}

/// The changes since a live sequence computed its last value. Used in the isolation of the context.
private final class PendingChanges {
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private var changes = LiveChanges()

    init() { (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

    func append(_ event: ContextEvent) {
        changes.append(event)
        signal.yield()
    }

    func dequeue() -> LiveChanges {
        defer { changes = LiveChanges() }
        return changes
    }
}
