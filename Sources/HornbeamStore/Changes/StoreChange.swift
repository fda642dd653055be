/// The published change of one commit.
package struct StoreChange: Sendable {
    package struct Updated: Sendable {
        package var reference: ObjectReference
        package var properties: PropertyMask
    }

    /// The process of a commit.
    package struct Process: Sendable {
        package var identifier: Int32
        package var name: String?
    }

    /// The rarely used parts: a save of new objects without a named author has none of them.
    private struct RareParts: Sendable {
        var author: String?
        var contextName: String?
        var listedUpdates: [Updated] = []
        var updatedRows: [ChangedRows] = []
        var listedDeletions: [ObjectReference] = []
        var deletedRows: [ChangedRows] = []
        var label: String?
        var process: Process?
        var preserved: [ObjectReference: [UInt8]] = [:]
    }

    package var transaction: UInt64 = 0
    package var originator: UInt64 = 0
    package var inserted: [ObjectReference] = []
    /// True when the changed objects are unknown: a store opened for reading switched to a version that another process wrote.
    package var isUnknown = false
    /// The kind of the commit in history.
    package var kind = HistoryRecord.Kind.save
    /// Zero or one element. It keeps the struct small, because a change is copied for each subscriber.
    private var rareParts: [RareParts] = []

    package init() {}

    package var author: String? {
        get { rareParts.isEmpty ? nil : rareParts[0].author }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].author = newValue
        }
    }

    package var contextName: String? {
        get { rareParts.isEmpty ? nil : rareParts[0].contextName }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].contextName = newValue
        }
    }

    package var label: String? {
        get { rareParts.isEmpty ? nil : rareParts[0].label }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].label = newValue
        }
    }

    /// The process that committed; nil for this one.
    package var process: Process? {
        get { rareParts.isEmpty ? nil : rareParts[0].process }
        set {
            if newValue == nil, rareParts.isEmpty { return }
            makeRareParts()
            rareParts[0].process = newValue
        }
    }

    // `updated` and `deleted` are declared in ChangedRows.swift.

    var listedUpdates: [Updated] {
        get { rareParts.isEmpty ? [] : rareParts[0].listedUpdates }
        _modify {
            makeRareParts()
            yield &rareParts[0].listedUpdates
        }
    }

    var updatedRows: [ChangedRows] {
        get { rareParts.isEmpty ? [] : rareParts[0].updatedRows }
        _modify {
            makeRareParts()
            yield &rareParts[0].updatedRows
        }
    }

    var listedDeletions: [ObjectReference] {
        get { rareParts.isEmpty ? [] : rareParts[0].listedDeletions }
        _modify {
            makeRareParts()
            yield &rareParts[0].listedDeletions
        }
    }

    var deletedRows: [ChangedRows] {
        get { rareParts.isEmpty ? [] : rareParts[0].deletedRows }
        _modify {
            makeRareParts()
            yield &rareParts[0].deletedRows
        }
    }

    /// The encoded values of deleted objects that history preserves.
    var preserved: [ObjectReference: [UInt8]] {
        get { rareParts.isEmpty ? [:] : rareParts[0].preserved }
        _modify {
            makeRareParts()
            yield &rareParts[0].preserved
        }
    }

    private mutating func makeRareParts() {
        if rareParts.isEmpty { rareParts.append(RareParts()) }
        assert(rareParts.count == 1, "The rare parts are one value.")
    }

    /// True when all changes are in `inserted`, and there is no author, context name or label.
    var onlyInserts: Bool { rareParts.isEmpty }

    /// The change without the preserved values, which only history needs.
    package var forContexts: StoreChange {
        if preserved.isEmpty { return self }
        var change = self
        change.preserved = [:]
        assert(change.count == count, "Contexts receive each changed object.")
        return change
    }
}
