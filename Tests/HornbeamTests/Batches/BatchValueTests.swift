import Foundation
import Hornbeam
import Testing

/// Validation of values in batches: required values always, the limits of the model on request, and the names in errors.
@Suite("Values in batches")
struct BatchValueTests {
    final class Item: ManagedObject {
        static let code = Attribute<String>("code", unique: true, maximumLength: 4)
        static let count = Attribute<Int>("count", minimum: 1)
        static let note = Attribute<String?>("note", pattern: "[a-z]*")
        static let owner = ToOne<Owner>("owner", inverse: "items", optional: false)
    }

    final class Owner: ManagedObject {
        static let name = Attribute<String>("name")
        static let items = ToMany<Item>("items", inverse: "owner")
    }

    private func context(_ kind: StoreKind) throws -> (ManagedObjectContext, Owner) {
        let model = try ManagedObjectModel {
            Entity("Item") { Item.code; Item.count; Item.note; Item.owner }
            Entity("Owner") { Owner.name; Owner.items }
        }
        let context = try Stack(kind, model, [Item.self, Owner.self]).newContext()
        let owner = Owner(context: context)
        owner[Owner.name] = "Ada"
        try context.save()
        return (context, owner)
    }

    private func rows(_ owner: Owner, _ count: Int) -> [[String: PropertyValue]] {
        (0 ..< count).map { ["code": .string("\($0)"), "count": 1, "owner": .objectID(owner.objectID)] }
    }

    static let rules: [BatchInsertRequest.ConflictRule] = [.fail, .skip, .update]

    @Test("BAT-1: a row without a required attribute or to-one is refused, and nothing is inserted", arguments: StoreKind.allCases, rules)
    func insertWithoutRequiredValue(kind: StoreKind, rule: BatchInsertRequest.ConflictRule) throws {
        let (context, owner) = try context(kind)
        for key in ["code", "count", "owner"] {
            var given = rows(owner, 5)
            given[3][key] = nil
            var request = BatchInsertRequest(entityName: "Item", objects: given)
            request.onConflict = rule
            let error = hornbeamError { try context.execute(request) }
            #expect(error?.code == .missingRequiredValue && error?.entity == "Item" && error?.key == key)
            #expect(error?.message.hasSuffix("It is row 4 of the batch.") == true, "\(error?.message ?? "")")
        }
        #expect(try context.count(FetchRequest<Item>()) == 0)
    }

    @Test("BAT-2: a required value cannot be set to nil, as a constant or by an expression", arguments: StoreKind.allCases)
    func updateToNil(kind: StoreKind) throws {
        let (context, owner) = try context(kind)
        try context.execute(BatchInsertRequest(entityName: "Item", objects: rows(owner, 3)))
        let ways: [(String, FetchExpression)] = try ["code", "count", "owner"].map { ($0, try FetchExpression(format: "nil")) }
            + [("count", try FetchExpression(format: "note.length")), ("code", try FetchExpression(format: "note"))]
        for (key, expression) in ways {
            var request = BatchUpdateRequest(Item.self)
            request.propertiesToUpdate[key] = expression
            let error = hornbeamError { try context.execute(request) }
            #expect(error?.code == .missingRequiredValue && error?.key == key, "\(key) \(expression)")
        }
        #expect(try context.fetch(FetchRequest<Item>().sorted(by: "code")).map { $0[Item.code] } == ["0", "1", "2"])
        #expect(try context.count(FetchRequest<Item>().where("owner == nil OR count == nil")) == 0)
    }

    @Test("BAT-3: a batch deletion that would leave a required to-one empty is refused", arguments: StoreKind.allCases)
    func deletionOfWhatIsRequired(kind: StoreKind) throws {
        let (context, owner) = try context(kind)
        try context.execute(BatchInsertRequest(entityName: "Item", objects: rows(owner, 2)))
        let error = hornbeamError { try context.execute(BatchDeleteRequest(Owner.self)) }
        #expect(error?.code == .missingRequiredValue && error?.key == "owner")
        #expect(try context.count(FetchRequest<Owner>()) == 1)
    }

    @Test("BAT-1, BAT-2: limits of the model are checked when the request enables it", arguments: StoreKind.allCases)
    func limitsByChoice(kind: StoreKind) throws {
        let (context, owner) = try context(kind)
        var given = rows(owner, 3)
        given[2]["code"] = "too long"
        given[2]["count"] = 0
        var insert = BatchInsertRequest(entityName: "Item", objects: given)
        insert.validatesValues = true
        let error = hornbeamError { try context.execute(insert) }
        #expect(error?.code == .stringTooLong && error?.message.hasSuffix("It is row 3 of the batch.") == true)
        try context.execute(BatchInsertRequest(entityName: "Item", objects: given))
        #expect(try context.count(FetchRequest<Item>()) == 3)
        for expression in ["count - 1", "0"] {
            var update = BatchUpdateRequest(Item.self, predicate: Item.count > 0)
            update.set(Item.count, to: try FetchExpression(format: expression))
            update.validatesValues = true
            #expect(hornbeamError { try context.execute(update) }?.code == .numberTooSmall)
        }
        var update = BatchUpdateRequest(Item.self)
        update.set(Item.note, to: "ABC")
        update.validatesValues = true
        #expect(hornbeamError { try context.execute(update) }?.code == .stringPatternMismatch)
        update.validatesValues = false
        #expect(try context.execute(update).count == 3)
    }

    @Test("BAT-1: numbers are converted and refused as in a save", arguments: StoreKind.allCases, rules)
    func numbersAreConverted(kind: StoreKind, rule: BatchInsertRequest.ConflictRule) throws {
        let model = try ManagedObjectModel {
            Entity("Reading") {
                Attribute("time", .date, optional: true)
                Attribute("ratio", .float, optional: true)
                Attribute("height", .double, optional: true)
            }
        }
        let context = try Stack(kind, model).newContext()
        let refused: [(String, PropertyValue, HornbeamError.Code)] = [
            ("time", .double(5), .typeMismatch), ("ratio", .double(1e300), .numberTooLarge), ("ratio", .double(-1e300), .numberTooSmall),
        ]
        for (name, value, code) in refused {
            var request = BatchInsertRequest(entityName: "Reading", objects: [[name: value]])
            request.onConflict = rule
            #expect(hornbeamError { try context.execute(request) }?.code == code, "\(name)")
        }
        var request = BatchInsertRequest(entityName: "Reading", objects: [["ratio": .double(-0.0), "height": .double(-0.0)]])
        request.onConflict = rule
        try context.execute(request)
        let readings = try context.fetch(FetchRequest<ManagedObject>(entityName: "Reading"))
        #expect(try readings.map { try $0.value(forKey: "ratio").doubleValue?.sign } == [.plus])
        #expect(try readings.map { try $0.value(forKey: "height").doubleValue?.sign } == [.plus])
    }

    @Test("MOD-8: a duplicate unique value is reported with its row, its key, the value and the object that has it", arguments: StoreKind.allCases)
    func takenValueIsNamed(kind: StoreKind) throws {
        let (context, owner) = try context(kind)
        try context.execute(BatchInsertRequest(entityName: "Item", objects: rows(owner, 1)))
        let holder = try context.fetch(FetchRequest<Item>())[0].objectID
        var given = rows(owner, 5_000)
        given.removeFirst()
        given[4_711]["code"] = "0"
        let error = try #require(hornbeamError { try context.execute(BatchInsertRequest(entityName: "Item", objects: given)) })
        #expect(error.code == .constraintConflict && error.entity == "Item" && error.key == "code" && error.value == "0")
        #expect(error.objectIDs == [holder])
        let name = "Item/p\(holder.reference)"
        #expect(
            error.message == "“code” of Item must be unique, and row 4712 of the batch and the stored \(name) have the same value. "
                + "Give it another value. Or set onConflict, to skip such rows or to update the stored objects.")
    }

    @Test("MOD-8: a save of many reports the object that is not unique, by the ID that it has there", arguments: StoreKind.allCases)
    func takenValueInASaveIsNamed(kind: StoreKind) throws {
        let (context, owner) = try context(kind)
        try context.execute(BatchInsertRequest(entityName: "Item", objects: rows(owner, 2)))
        var items: [Item] = []
        for number in 0 ..< 500 {
            let item = Item(context: context)
            item[Item.code] = number == 77 ? "1" : "n\(number)"
            item[Item.count] = 1
            item[Item.owner] = owner
            items.append(item)
        }
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code == .constraintConflict && error.key == "code" && error.value == "1" && error.objectIDs == [items[77].objectID])
        #expect(error.message.contains("Item/t") && error.message.contains("the stored Item/p"))
        items[78][Item.code] = "0"
        let several = try #require(hornbeamError { try context.save() })
        #expect(several.details.map(\.objectIDs) == [[items[77].objectID], [items[78].objectID]])
        #expect(several.details.map(\.value) == ["1", "0"])
    }
}
