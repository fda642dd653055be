/// The published change of one commit.
package struct StoreChange: Sendable {
    package struct Updated: Sendable {
        package var reference: ObjectReference
        package var properties: PropertyMask
    }

    /// The rarely used parts: a save of new objects without a named author has none of them.
    private struct RareParts: Sendable {
        var author: String?
        var contextName: String?
        var namedUpdates: [Updated] = []
        var updatedRows: [ChangedRows] = []
        var namedDeletions: [ObjectReference] = []
        var deletedRows: [ChangedRows] = []
        var label: String?
        var preserved: [ObjectReference: [UInt8]] = [:]
    }

    package var transaction: UInt64 = 0
    package var originator: UInt64 = 0
    package var inserted: [ObjectReference] = []
    /// True when the changes are not known: a store opened for reading switched to a state of another process.
    package var isUnknown = false
    /// The kind of the commit in history.
    package var kind = HistoryRecord.Kind.save
    /// Zero or one element. It keeps the struct small, because a change is copied for each subscriber.
    private var rest: [RareParts] = []

    package init() {}

    package var author: String? {
        get { rest.isEmpty ? nil : rest[0].author }
        set {
            if newValue == nil, rest.isEmpty { return }
            haveRest()
            rest[0].author = newValue
        }
    }

    package var contextName: String? {
        get { rest.isEmpty ? nil : rest[0].contextName }
        set {
            if newValue == nil, rest.isEmpty { return }
            haveRest()
            rest[0].contextName = newValue
        }
    }

    package var label: String? {
        get { rest.isEmpty ? nil : rest[0].label }
        set {
            if newValue == nil, rest.isEmpty { return }
            haveRest()
            rest[0].label = newValue
        }
    }

    // `updated` and `deleted` are declared in ChangedRows.swift.

    var namedUpdates: [Updated] {
        get { rest.isEmpty ? [] : rest[0].namedUpdates }
        _modify {
            haveRest()
            yield &rest[0].namedUpdates
        }
    }

    var updatedRows: [ChangedRows] {
        get { rest.isEmpty ? [] : rest[0].updatedRows }
        _modify {
            haveRest()
            yield &rest[0].updatedRows
        }
    }

    var namedDeletions: [ObjectReference] {
        get { rest.isEmpty ? [] : rest[0].namedDeletions }
        _modify {
            haveRest()
            yield &rest[0].namedDeletions
        }
    }

    var deletedRows: [ChangedRows] {
        get { rest.isEmpty ? [] : rest[0].deletedRows }
        _modify {
            haveRest()
            yield &rest[0].deletedRows
        }
    }

    /// The encoded values that history keeps of deleted objects.
    var preserved: [ObjectReference: [UInt8]] {
        get { rest.isEmpty ? [:] : rest[0].preserved }
        _modify {
            haveRest()
            yield &rest[0].preserved
        }
    }

    private mutating func haveRest() {
        if rest.isEmpty { rest.append(RareParts()) }
        assert(rest.count == 1, "The rare parts are one value.")
    }

    /// True when there are no changes except `inserted`.
    var onlyInserts: Bool { rest.isEmpty }

    /// The change without the parts for history.
    package var forContexts: StoreChange {
        if preserved.isEmpty { return self }
        var change = self
        change.preserved = [:]
        assert(change.count == count, "Contexts receive each changed object.")
        return change
    }
}
