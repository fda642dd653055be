import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// Calls the context from inside its hooks.
final class Meddler: ManagedObject {
    static let name = Attribute<String?>("name")
    static let friends = ToMany<Meddler>("friends", inverse: "friends", deleteRule: .cascade)
    override class var tokens: [any PropertyToken] { [name, friends] }

    enum Hook: CaseIterable {
        case awakeFromInsert, awakeFromFetch, validate, validateForInsert, validateForUpdate, validateForDelete, willSave, didSave,
            prepareForDeletion, willTurnIntoFault, didTurnIntoFault, awakeFromSnapshotEvents
    }

    /// The action in a hook, executed once. Set and cleared by one test at a time.
    nonisolated(unsafe) static var meddle: (hook: Hook, body: (Meddler) throws -> Void)?

    private func run(_ hook: Hook) {
        guard let meddle = Self.meddle, meddle.hook == hook else { return }
        Self.meddle = nil
        try? meddle.body(self)
    }

    override func awakeFromInsert() { run(.awakeFromInsert) }
    override func awakeFromFetch() { run(.awakeFromFetch) }
    override func validate(_ value: PropertyValue, forKey key: String) throws { run(.validate) }
    override func validateForInsert() throws {
        run(.validateForInsert)
        try super.validateForInsert()
    }
    override func validateForUpdate() throws {
        run(.validateForUpdate)
        try super.validateForUpdate()
    }
    override func validateForDelete() throws {
        run(.validateForDelete)
        try super.validateForDelete()
    }
    override func willSave() { run(.willSave) }
    override func didSave() { run(.didSave) }
    override func prepareForDeletion() { run(.prepareForDeletion) }
    override func willTurnIntoFault() { run(.willTurnIntoFault) }
    override func didTurnIntoFault() { run(.didTurnIntoFault) }
    override func awake(fromSnapshotEvents events: SnapshotEvents) { run(.awakeFromSnapshotEvents) }
}

/// Every call from every hook: none ends the process, and the context stays usable. Only `save()` of the same context is refused there.
@Suite(.serialized) struct HookMisuseTests {
    static let calls: [(name: String, body: @Sendable (Meddler) throws -> Void)] = [
        ("delete itself", { $0.managedObjectContext?.delete($0) }),
        ("delete its friends", { for friend in Array($0[Meddler.friends]) { $0.managedObjectContext?.delete(friend) } }),
        ("insert itself", { $0.managedObjectContext?.insert($0) }),
        ("make another", { if let context = $0.managedObjectContext { Meddler(context: context)[Meddler.name] = "made" } }),
        ("set a value", { $0[Meddler.name] = "set" }),
        ("set a primitive value", { $0.setPrimitiveValue("set", Meddler.name) }),
        ("add a friend", { if let context = $0.managedObjectContext { $0[Meddler.friends].insert(Meddler(context: context)) } }),
        ("rollback", { $0.managedObjectContext?.rollback() }),
        ("reset", { $0.managedObjectContext?.reset() }),
        ("refresh", { try $0.managedObjectContext?.refresh($0, mergeChanges: false) }),
        ("refresh with changes", { try $0.managedObjectContext?.refresh($0, mergeChanges: true) }),
        ("refresh all", { try $0.managedObjectContext?.refreshAllObjects() }),
        ("fetch", { _ = try $0.managedObjectContext?.fetch(FetchRequest<Meddler>().where("name == 'set'")) }),
        ("count", { _ = try $0.managedObjectContext?.count(FetchRequest<Meddler>()) }),
        ("merge", { try $0.managedObjectContext?.mergeChanges() }),
        ("process", { $0.managedObjectContext?.processPendingChanges() }),
        ("watch", { $0.managedObjectContext?.detectConflicts(for: $0) }),
        ("obtain an ID", { try $0.managedObjectContext?.obtainPermanentIDs(for: [$0]) }),
        ("insert in a batch", { object in
            let request = BatchInsertRequest(entityName: "Meddler", objects: [["name": "batch"]])
            try object.managedObjectContext?.execute(request)
        }),
        ("delete in a batch", { try $0.managedObjectContext?.execute(BatchDeleteRequest(entityName: "Meddler")) }),
        ("make a child and save it", { object in
            guard let child = object.managedObjectContext?.newChildContext() else { return }
            _ = Meddler(context: child)
            try child.save()
        }),
    ]

    @Test("OBJ-1 … OBJ-6, VAL-2: every call from every hook leaves a usable context", arguments: Meddler.Hook.allCases, [false, true])
    func callsFromHooks(hook: Meddler.Hook, isChild: Bool) throws {
        for call in Self.calls {
            Meddler.meddle = nil
            let model = try ManagedObjectModel { Entity("Meddler") { Meddler.name; Meddler.friends } }
            let stack = try Stack(.inMemory, model, [Meddler.self])
            let context = Setting(isChild: isChild).context(of: stack)
            let pair = [Meddler(context: context), Meddler(context: context)]
            pair[0][Meddler.friends].insert(pair[1])
            try context.saveToStore()
            Meddler.meddle = (hook, call.body)
            _ = Meddler(context: context)
            try? context.refresh(pair[0], mergeChanges: false)
            pair[0][Meddler.name] = "changed"
            _ = pair[1][Meddler.name]
            try? context.saveToStore()
            context.delete(pair[0])
            try? context.saveToStore()
            context.rollback()
            Meddler.meddle = nil
            context.reset()
            context.parent?.reset()
            Meddler(context: context)[Meddler.name] = "last"
            try context.saveToStore()
            #expect(!context.hasChanges, "\(call.name)")
            #expect(try context.count(FetchRequest<Meddler>().where("name == 'last'")) == 1, "\(call.name)")
            #expect(try context.fetch(FetchRequest<Meddler>()).allSatisfy { $0.managedObjectContext === context }, "\(call.name)")
            #expect(try stack.container.openStore().check().isSound, "\(call.name)")
        }
    }
}
