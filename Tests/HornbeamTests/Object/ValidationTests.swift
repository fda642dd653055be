import Foundation
import Hornbeam
import Testing

@Suite struct ValidationTests {
    private func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("Thing") {
                Attribute<String>("name", minimumLength: 2, maximumLength: 4)
                Attribute<Int>("size", default: 1, minimum: 1, maximum: 9)
                Attribute<String?>("code", pattern: "[a-z]+")
                Attribute<Date?>("day", maximum: Date(timeIntervalSinceReferenceDate: 100))
            }
            Entity("Group") {
                ToMany("members", to: "Member", inverse: "group", minCount: 2, maxCount: 3)
            }
            Entity("Member") { ToOne("group", to: "Group", inverse: "members") }
            Entity("Part") { ToOne("whole", to: "Whole", inverse: "parts", optional: false) }
            Entity("Whole") { ToMany("parts", to: "Part", inverse: "whole") }
        })
    }

    @Test("VAL-3: all errors of all objects come together in one, with object and key", arguments: StoreKind.allCases)
    func allErrorsComeTogether(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let (a, b) = (try context.insert(entityNamed: "Thing"), try context.insert(entityNamed: "Thing"))
        a["size"] = 10
        a["code"] = "ABC"
        b["name"] = "x"
        b["day"] = .date(Date(timeIntervalSinceReferenceDate: 101))
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code == .multipleErrors && error.code.rawValue == 1560)
        #expect(error.details.map(\.code) == [
            .missingRequiredValue, .numberTooLarge, .stringPatternMismatch, .stringTooShort, .dateTooLate,
        ])
        #expect(error.details.map(\.key) == ["name", "size", "code", "name", "day"])
        #expect(error.details.map(\.objectIDs) == [[a.objectID], [a.objectID], [a.objectID], [b.objectID], [b.objectID]])
        #expect(context.hasChanges && a.isInserted)
        a["name"] = "abc"
        a["size"] = 9
        a["code"] = "abc"
        b["name"] = "xy"
        b["day"] = .null
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test("ATT-3: a single missing value is error 1570, whose message has the remedy", arguments: StoreKind.allCases)
    func missingValueText(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        try context.insert(entityNamed: "Thing")
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code.rawValue == 1570)
        #expect(error.entity == "Thing" && error.key == "name")
        #expect(error.message.contains("name") && error.message.contains("required"))
    }

    @Test("REL-2: limits of a to-many are errors 1580 and 1590 (validate.005)", arguments: StoreKind.allCases)
    func toManyLimits(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let group = try context.insert(entityNamed: "Group")
        try context.save()
        func add() throws { try context.insert(entityNamed: "Member").setValue(group, forKey: "group") }
        try add()
        #expect(hornbeamError { try context.save() }?.code.rawValue == 1580)
        for _ in 0..<3 { try add() }
        #expect(hornbeamError { try context.save() }?.code.rawValue == 1590)
        for member in try group.objects(forKey: "members").prefix(2) { context.delete(member) }
        try context.save()
        #expect(try group.objects(forKey: "members").count == 2)
    }

    @Test("REL-2: a required to-many without a minimum may be empty", arguments: StoreKind.allCases)
    func requiredToManyMayBeEmpty(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Whole") { ToMany("parts", to: "Part", inverse: "whole", optional: false) }
            Entity("Part") { ToOne("whole", to: "Whole", inverse: "parts") }
        }
        let context = try Stack(kind, model).newContext()
        let whole = try context.insert(entityNamed: "Whole")
        try context.save()
        let part = try context.insert(entityNamed: "Part")
        try part.setValue(whole, forKey: "whole")
        try context.save()
        context.delete(part)
        try context.save()
        #expect(try whole.objects(forKey: "parts").isEmpty)
    }

    @Test("REL-1: a required to-one must lead to an object that stays", arguments: StoreKind.allCases)
    func requiredToOne(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let (part, whole) = (try context.insert(entityNamed: "Part"), try context.insert(entityNamed: "Whole"))
        #expect(hornbeamError { try context.save() }?.code.rawValue == 1570)
        try part.setValue(whole, forKey: "whole")
        try context.save()
        context.delete(whole)
        let error = hornbeamError { try context.save() }
        #expect(error?.code.rawValue == 1570 && error?.key == "whole")
    }

    @Test("VAL-1: a value can be checked at any time, and setters never do", arguments: StoreKind.allCases)
    func valuesCanBeChecked(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let thing = try context.insert(entityNamed: "Thing")
        #expect(hornbeamError { try thing.validateValue(0, forKey: "size") }?.code.rawValue == 1620)
        try thing.validateValue(5, forKey: "size")
        thing["size"] = 0
        #expect(thing["size"] == 0)
    }

    @Test("VAL-2: errors of a class's own validation come with those of the model", arguments: StoreKind.allCases)
    func ownValidation(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Checked") { Checked.name; Checked.other } }
        let context = try Stack(kind, model, [Checked.self]).newContext()
        let object = Checked(context: context)
        object[Checked.name] = "bad"
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code == .multipleErrors && error.details.map(\.key) == ["other", "name"])
    }

    @Test("VAL-1, VAL-2, VAL-3: an error of another type keeps its identity as the underlying one (validate.009)", arguments: Setting.all)
    func foreignErrorsKeepTheirIdentity(setting: Setting) throws {
        let model = try ManagedObjectModel { Entity("Strict") { Strict.name } }
        let context = setting.context(of: try Stack(setting.kind, model, [Strict.self]))
        let objects = [Strict(context: context), Strict(context: context)]
        if setting.isSaved { try context.saveToStore() }
        objects[0].name = "hook"
        #expect(hornbeamError { try context.save() }?.underlyingError as? Strict.Refusal == .hook)
        objects[0].name = "value"
        let error = hornbeamError { try context.save() }
        #expect(error?.underlyingError as? Strict.Refusal == .value && error?.key == "name" && error?.code == .validation)
        objects[1].name = "hook"
        let several = hornbeamError { try context.save() }
        #expect(several?.code == .multipleErrors)
        #expect(several?.details.map { $0.underlyingError as? Strict.Refusal } == [.value, .hook])
        #expect(several?.details.map(\.objectIDs) == objects.map { [$0.objectID] })
    }

    @Test("SAV-13: a failed save keeps all changes, and rollback drops them (context.004)", arguments: StoreKind.allCases)
    func failedSaveLeavesChanges(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let object = PEntity(context: context)
        object.counter = 0
        try context.save()
        object.counter = 1
        try context.insert(entityNamed: "PEntity").setValue(.int(1), forKey: "counter")
        let broken = try context.insert(entityNamed: "PEntity")
        broken["counter"] = .null
        #expect(hornbeamError { try context.save() }?.code == .missingRequiredValue)
        #expect(try context.count(FetchRequest<PEntity>().where("counter == 0")) == 0)
        #expect(try stack.newContext().count(FetchRequest<PEntity>()) == 1)
        #expect(context.hasChanges)
        context.rollback()
        #expect(!context.hasChanges && object.counter == 0)
        #expect(try context.count(FetchRequest<PEntity>()) == 1)
    }
}

final class Checked: ManagedObject {
    static let name = Attribute<String?>("name")
    static let other = Attribute<String>("other")

    override func validateForInsert() throws {
        var errors: [HornbeamError] = []
        do { try super.validateForInsert() } catch let error as HornbeamError { errors.append(error) }
        if self[Self.name] == "bad" {
            errors.append(HornbeamError(.validation, "“name” is bad.", entity: "Checked", key: "name"))
        }
        if let error = HornbeamError.combining(errors) { throw error }
    }
}

/// Refuses some names with its own errors.
final class Strict: ManagedObject {
    enum Refusal: Error { case hook, value }

    static let name = Attribute<String?>("name")
    override class var tokens: [any PropertyToken] { [name] }
    var name: String? { get { self[Self.name] } set { self[Self.name] = newValue } }

    override func validate(_ value: PropertyValue, forKey key: String) throws {
        if value == "value" { throw Refusal.value }
    }
    override func validateForInsert() throws {
        if name == "hook" { throw Refusal.hook }
        try super.validateForInsert()
    }
    override func validateForUpdate() throws {
        if name == "hook" { throw Refusal.hook }
        try super.validateForUpdate()
    }
}
