/// What one commit changed, as told to observers.
package struct StoreChange: Sendable {
    package struct Updated: Sendable {
        package var reference: ObjectReference
        package var properties: PropertyMask
    }

    /// What a save of new objects without a name does not have.
    private struct Rest: Sendable {
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
    /// True when anything may have changed: a store opened for reading moved to what another process has saved.
    package var isUnknown = false
    /// What history says of the commit beside its changes.
    package var kind = HistoryRecord.Kind.save
    /// One or none: a change is copied some times on its way to those who are told of it.
    private var rest: [Rest] = []

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

    // `updated` and `deleted` are in ChangedRows.swift.

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

    /// What history keeps of deleted objects, encoded.
    var preserved: [ObjectReference: [UInt8]] {
        get { rest.isEmpty ? [:] : rest[0].preserved }
        _modify {
            haveRest()
            yield &rest[0].preserved
        }
    }

    private mutating func haveRest() {
        if rest.isEmpty { rest.append(Rest()) }
    }

    /// True when only `inserted` can name objects.
    var onlyInserts: Bool { rest.isEmpty }

    /// Without what only history is to have.
    package var forContexts: StoreChange {
        if preserved.isEmpty { return self }
        var change = self
        change.preserved = [:]
        return change
    }
}
