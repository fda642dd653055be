internal import Foundation
internal import HornbeamModel

/// An import into one context: finds the objects of converted rows portion by portion, changes them, saves and cleans.
///
/// It is not generic, because unspecialised generic code looks up metadata for each row.
final class ImportSession {
    private let context: ManagedObjectContext
    private let options: ImportOptions
    private let owner: ImportOwner?
    private let target: ImportTarget
    private let lookups: [ImportLookup]
    private let writer: ImportWriter
    private var report = ImportReport()
    private var portion: [NumberedRow] = []
    private var rowsSinceSave = 0
    private var seen: SeenObjects

    /// A structure, because arrays of tuples are destroyed element by element through their metadata.
    private struct NumberedRow {
        let number: Int
        let row: ConvertedRow
    }

    /// The number of rows whose objects are found by one fetch.
    private static let portionSize = 2000

    /// An import of rows that `plan` converts.
    ///
    /// - Throws: `unsupportedRequest` for a context with changes; the errors of the mapping.
    static func make<Object: ManagedObject, Row>(
        _ context: ManagedObjectContext, _ mapping: ImportMapping<Object, Row>, _ options: ImportOptions, _ owner: ImportOwner? = nil
    ) throws -> (session: ImportSession, plan: ImportPlan<Row>) {
        let compiler = ImportCompiler(context)
        let plan = try compiler.plan(mapping)
        return (try ImportSession(context, plan.target, compiler.lookups, options, owner), plan)
    }

    private init(
        _ context: ManagedObjectContext, _ target: ImportTarget, _ lookups: [ImportLookup], _ options: ImportOptions, _ owner: ImportOwner?
    ) throws {
        if options.saving != .byCaller, context.hasChanges {
            throw HornbeamError(
                .unsupportedRequest,
                "The context has unsaved changes, which the import would save or lose with its own. Save them first, or import with saving: .byCaller.")
        }
        self.context = context
        self.target = target
        self.lookups = lookups
        self.options = options
        self.owner = owner
        writer = ImportWriter(context, owner, checksOtherEnds: options.onRefusal == .skip)
        seen = SeenObjects(key: target.lookup?.key)
        try owner?.check(target.entity)
    }

    // MARK: Rows

    /// Imports all rows of a source. After an error, the context has no changes of the import, unless the caller saves.
    func run<Row>(_ source: ImportSource<Row>, _ plan: ImportPlan<Row>, isCancelled: Flag? = nil) throws -> ImportReport {
        do {
            // The compiler specialises this call for rows with names.
            if let source = source as? ImportSource<ImportRow>, let plan = plan as? ImportPlan<ImportRow> {
                try addAll(source, plan, isCancelled)
            } else {
                try addAll(source, plan, isCancelled)
            }
            return try finish()
        } catch {
            if options.saving != .byCaller { context.rollback() }
            throw error
        }
    }

    private func addAll<Row>(_ source: ImportSource<Row>, _ plan: ImportPlan<Row>, _ isCancelled: Flag?) throws {
        if let total = source.total { options.progress?.totalUnitCount = total }
        var number = 0
        while let next = try source.next() {
            number += 1
            try add(number: source.number?() ?? number) { try plan.convert(next.get()) }
            guard number % 256 == 0 else { continue }
            if isCancelled?.isRaised == true { throw CancellationError() }
            try note(source.completed?() ?? Int64(number))
        }
        if source.total == nil { options.progress?.totalUnitCount = Int64(number) }
        try note(source.total ?? Int64(number))
    }

    /// - Throws: `CancellationError` after a cancellation.
    func note(_ completed: Int64) throws {
        if options.progress?.isCancelled == true || Task.isCancelled { throw CancellationError() }
        options.progress?.completedUnitCount = completed
    }

    /// Adds the row that the closure reads and converts.
    func add(number: Int, _ row: () throws -> ConvertedRow) throws {
        do {
            portion.append(NumberedRow(number: number, row: try row()))
        } catch {
            seen.isIncomplete = true
            try refuse(number, error)
        }
        if portion.count >= min(Self.portionSize, saveInterval - rowsSinceSave) { try writePortion() }
    }

    /// The number of rows between saves; no limit unless the import saves each n rows.
    var saveInterval: Int {
        if case .every(let count) = options.saving { max(1, count) } else { .max }
    }

    private func writePortion() throws {
        guard !portion.isEmpty else { return }
        for lookup in lookups { try lookup.load() }
        for next in portion {
            do {
                let written = try writer.write(next.row, target)
                count(written.outcome)
                if options.cleaning != nil { for object in writer.named { seen.add(object) } }
            } catch {
                // The object of the row is known to the writer if it exists.
                if let object = writer.refusedObject { seen.add(object) } else if next.row.entry == nil { seen.isIncomplete = true }
                if let entry = next.row.entry { seen.add(entry.key) }
                for object in writer.named where !object.isInserted && !object.isDeleted { seen.add(object) }
                // The row may name further objects of its entity, which the writer did not reach.
                if target.links.contains(where: { $0.target.entity.isKind(of: target.entity) }) { seen.isIncomplete = true }
                try refuse(next.number, error)
            }
        }
        rowsSinceSave += portion.count
        portion.removeAll(keepingCapacity: true)
        if rowsSinceSave >= saveInterval { try save() } else { for lookup in lookups { lookup.endPortion() } }
    }

    private func count(_ outcome: ImportWriter.Outcome) {
        switch outcome {
        case .inserted: report.inserted += 1
        case .updated: report.updated += 1
        case .unchanged: report.unchanged += 1
        }
    }

    private func refuse(_ number: Int, _ error: any Error) throws {
        if error is CancellationError { throw error }
        let cause = error as? HornbeamError
            ?? HornbeamError(.validation, "The row was refused by code of the app.", cause: "\(error)", underlyingError: error)
        guard options.onRefusal == .skip else {
            var stopping = cause
            stopping.message = "Row \(number) of the import is refused: \(cause.message)"
            throw stopping
        }
        report.refusedCount += 1
        if report.refused.count < options.refusedRowsMax { report.refused.append(.init(number: number, error: cause)) }
    }

    // MARK: The end

    /// Writes the last rows, cleans, and saves.
    func finish() throws -> ImportReport {
        try writePortion()
        if let cleaning = options.cleaning { try clean(cleaning) }
        if options.saving != .byCaller { try save() }
        (report.relatedInserted, report.relatedUpdated) = (writer.relatedInserted, writer.relatedUpdated)
        return report
    }

    private func save() throws {
        rowsSinceSave = 0
        if context.hasChanges { try context.save() }
        seen.recordIDs()
        for lookup in lookups { lookup.endSave() }
        context.sweepIfDue()
    }

    private func clean(_ cleaning: ImportCleaning) throws {
        guard !seen.isIncomplete else { return report.cleaning = .unsafe }
        report.cleaned = try candidates(cleaning.scope)
        if cleaning.isDryRun { return report.cleaning = .dryRun }
        guard try cleaning.allows(report.cleaned) else { return report.cleaning = .stopped }
        for id in report.cleaned { context.delete(context.object(with: id)) }
        report.deleted = report.cleaned.count
        report.cleaning = .done
    }

    private func candidates(_ scope: ImportCleaning.Scope) throws -> [ManagedObjectID] {
        seen.recordIDs()
        var request = FetchRequest<ManagedObject>(entityName: target.entity.name)
        if case .matching(let predicate) = scope { request.predicate = predicate }
        let found = try context.fetchIDs(request).filter { !seen.contains($0, context) }
        guard let owner else { return found }
        let members = Set(owner.members)
        return found.filter(members.contains)
    }
}

/// The objects that rows of an import named.
///
/// An object that another context saved with the key of a row has another ID than the object of this import, so keys are compared too.
private struct SeenObjects {
    /// The attribute by which rows find objects; nil for a mapping without a key.
    let key: PropertyDescription?
    private var keys: Set<PropertyValue> = []
    private(set) var ids: Set<ManagedObjectID> = []
    /// The objects since the last save, whose IDs may be temporary.
    private var recent: [ManagedObject] = []
    /// True when the object of a row is unknown.
    var isIncomplete = false

    init(key: PropertyDescription?) { self.key = key }

    mutating func add(_ key: PropertyValue) { keys.insert(key) }

    mutating func add(_ object: ManagedObject) {
        if let key { keys.insert(object.currentValue(of: key)) }
        if object.isInserted { recent.append(object) } else { ids.insert(object.objectID) }
    }

    func contains(_ id: ManagedObjectID, _ context: ManagedObjectContext) -> Bool {
        if ids.contains(id) { return true }
        guard let key else { return false }
        return keys.contains(context.object(with: id).currentValue(of: key))
    }

    /// Records the IDs of recent objects: after a save, or before a cleaning that precedes the save.
    mutating func recordIDs() {
        for object in recent { ids.insert(object.objectID) }
        recent.removeAll { !$0.isInserted }
    }
}
