internal import HornbeamModel
public import Observation

/// The newest value of a live sequence, for views: a count, totals, the rows of a selection, or results.
///
/// ```swift
/// let unread = LiveValue(library.viewContext.liveCount(of: FetchRequest<Book>().where { $0.isRead == false }))
/// label.text = "\(unread.value ?? 0) to read"
/// ```
/// The first value is available immediately. The changes that the context processes in one turn of the main actor make one new value. A read
/// of `value` includes the changes that were processed in this turn. The updates end when this object is released.
@MainActor @Observable
public final class LiveValue<Value> {
    private var newest: Value?
    private var failure: (any Error)?
    @ObservationIgnored private let context: ManagedObjectContext
    @ObservationIgnored private var compute: LiveSequence<Value>.Computation
    /// The changes since the newest value was computed.
    @ObservationIgnored private var changes = LiveChanges()
    @ObservationIgnored private var isDue = true
    @ObservationIgnored private var isUpdating = false

    /// Called with each value after the first.
    @ObservationIgnored public var onUpdate: ((Value) -> Void)?

    /// Computes the first value of a sequence, and updates it when the context changes.
    public init(_ sequence: LiveSequence<Value>) {
        context = sequence.context
        compute = sequence.makeComputation()
        context.observers.listeners.append { [weak self] event in
            self?.note(event)
            return self != nil
        }
        update()
    }

    /// The newest value; nil if no computation has succeeded yet.
    public var value: Value? {
        catchUp()
        return newest
    }

    /// The error of the last computation; nil after a successful one. After an error, `value` is the last computed value, and the next
    /// change computes it again.
    public var fetchError: (any Error)? {
        catchUp()
        return failure
    }

    /// Replaces the computation. The new one receives the current value as the last value.
    func replace(_ computation: @escaping LiveSequence<Value>.Computation) {
        compute = computation
        isDue = true
        catchUp()
    }

    private func note(_ event: ContextEvent) {
        changes.append(event)
        guard !isDue else { return }
        isDue = true
        Task { [weak self] in self?.catchUp() }
    }

    private func catchUp() {
        guard isDue, !isUpdating else { return }
        if update(), let newest { onUpdate?(newest) }
    }

    /// - Returns: True if there is a new value.
    @discardableResult
    private func update() -> Bool {
        isUpdating = true
        defer { isUpdating = false }
        // The computation would process the pending changes. Processed before it, they are part of this value, and not a reason for another one.
        context.processPendingChanges()
        isDue = false
        var failed = changes
        changes = LiveChanges()
        do {
            let value = try compute(context, failed, newest)
            if failure != nil { failure = nil }
            guard let value else { return false }
            newest = value
            return true
        } catch {
            failed.append(changes)
            changes = failed
            failure = error
            return false
        }
    }
}
