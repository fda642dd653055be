import Foundation
import Hornbeam
import Testing

/// The validation errors (section 1.12): each with its number, the object, the key, the value and a sentence without the value.
@Suite struct ErrorTableTests {
    final class Subject: ManagedObject {
        override func validate(_ value: PropertyValue, forKey key: String) throws {
            struct Refusal: Error {}
            if key == "own", value == "secret-own" { throw Refusal() }
        }
    }

    private static let late = Date(timeIntervalSinceReferenceDate: 1_000)

    private func stack(_ kind: StoreKind) throws -> Stack {
        try Stack(kind, ManagedObjectModel {
            Entity("Subject") {
                Attribute<String>("required", default: "here")
                Attribute<Int?>("size", minimum: 10, maximum: 20)
                Attribute<Double?>("ratio", minimum: 0.5, maximum: 1.5)
                Attribute<Date?>("day", minimum: Date(timeIntervalSinceReferenceDate: 10), maximum: Self.late)
                Attribute<Date?>("free")
                Attribute<String?>("text", minimumLength: 3, maximumLength: 12, pattern: "[a-z-]*")
                Attribute<Data?>("bytes", minimumLength: 2, maximumLength: 3)
                Attribute<String?>("own")
                Attribute<URL?>("link")
                ToMany("some", to: "Other", inverse: "subject", minCount: 2, maxCount: 3)
                ToOne("needed", to: "Other", inverse: "needers")
            }
            Entity("Other") {
                ToOne("subject", to: "Subject", inverse: "some")
                ToMany("needers", to: "Subject", inverse: "needed", deleteRule: .deny)
            }
        }, [Subject.self])
    }

    static let table: [(code: Int, key: String, value: PropertyValue)] = [
        (1550, "own", "secret-own"), (1570, "required", .null), (1610, "size", 21), (1620, "size", 9), (1610, "ratio", 1.75),
        (1620, "ratio", 0.25), (1630, "day", .date(late + 1)), (1640, "day", .date(Date(timeIntervalSinceReferenceDate: 9))),
        (1650, "free", .date(Date(timeIntervalSinceReferenceDate: .nan))), (1660, "text", "secret-secret"), (1670, "text", "ab"),
        (1680, "text", "SECRET"), (1660, "bytes", .data(Data([1, 2, 3, 4]))), (1670, "bytes", .data(Data([1]))),
    ]

    @Test("VAL-1, VAL-2: each broken rule is its error, by itself and at the save of a new and of a changed object",
          arguments: StoreKind.allCases, table.indices)
    func brokenRules(kind: StoreKind, index: Int) throws {
        let (code, key, value) = Self.table[index]
        let context = try stack(kind).newContext()
        let new = try context.insert(entityNamed: "Subject")
        let byItself = hornbeamError { try new.validateValue(value, forKey: key) }
        new.setPrimitive(value, key)
        let atInsert = hornbeamError { try context.save() }
        context.rollback()
        let stored = try context.insert(entityNamed: "Subject")
        try context.save()
        stored.setPrimitive(value, key)
        let atUpdate = hornbeamError { try context.save() }
        for (error, object) in [(byItself, new), (atInsert, new), (atUpdate, stored)] {
            #expect(error?.code.rawValue == code && error?.entity == "Subject" && error?.key == key)
            #expect(error?.objectIDs == [object.objectID] && error?.details == [])
            #expect(code == 1570 || error?.value?.description == value.description)
            #expect(error?.message.hasSuffix(".") == true && error?.description.lowercased().contains("secret") == false)
        }
        #expect(stored.isUpdated && context.hasChanges)
        context.rollback()
        try context.save()
    }

    @Test("VAL-1: a value is converted as the attribute holds it; a setter checks nothing", arguments: StoreKind.allCases)
    func coercion(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let object = try context.insert(entityNamed: "Subject")
        #expect(try object.validateValue(.double(15), forKey: "size") == 15)
        #expect(try object.validateValue(1, forKey: "ratio") == .double(1))
        #expect(hornbeamError { try object.validateValue(.data(Data()), forKey: "size") }?.code == .typeMismatch)
        #expect(hornbeamError { try object.validateValue(1, forKey: "sice") }?.code == .unknownKey)
        #expect(hornbeamError { try object.validateValue("SECRETSECRET-1", forKey: "text") }?.details.map(\.code.rawValue) == [1660, 1680])
        object["size"] = 99
        #expect(object["size"] == 99)
        try object.validateValue(.null, forKey: "needed")
    }

    @Test("1580, 1590, 1600: relationships with too few, too many, and a deletion that is denied", arguments: StoreKind.allCases)
    func relationships(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let subject = try context.insert(entityNamed: "Subject")
        let others = try (0..<4).map { _ in try context.insert(entityNamed: "Other") }
        for (count, code) in [(1, 1580), (4, 1590)] {
            try subject.setValue(.set(Set(others.prefix(count).map { .objectID($0.objectID) })), forKey: "some")
            let error = hornbeamError { try context.save() }
            #expect(error?.code.rawValue == code && error?.key == "some" && error?.objectIDs == [subject.objectID])
            #expect(error?.value == .int(Int64(count)))
            let ids = PropertyValue.set(Set(others.prefix(count).map { .objectID($0.objectID) }))
            #expect(hornbeamError { try subject.validateValue(ids, forKey: "some") }?.code.rawValue == code)
        }
        try subject.setValue(.null, forKey: "some")
        try subject.setValue(others[0], forKey: "needed")
        try context.save()
        context.delete(others[0])
        let denied = hornbeamError { try context.save() }
        #expect(denied?.code.rawValue == 1600 && denied?.entity == "Other" && denied?.key == "needers")
        #expect(denied?.objectIDs == [others[0].objectID])
        context.rollback()
        #expect(!context.hasChanges && subject["needed"] == .objectID(others[0].objectID))
    }

    @Test("VAL-3, VAL-4 (1.29, 9): all errors come in one, deletions before insertions before changes, in the order of change",
          arguments: StoreKind.allCases)
    func allTogether(kind: StoreKind) throws {
        let context = try stack(kind).newContext()
        let (old, subject) = (try context.insert(entityNamed: "Other"), try context.insert(entityNamed: "Subject"))
        try subject.setValue(old, forKey: "needed")
        let second = try context.insert(entityNamed: "Subject")
        try context.save()
        second["size"] = 1
        subject["size"] = 2
        subject["text"] = "A"
        let new = try context.insert(entityNamed: "Subject")
        new["ratio"] = 9
        context.delete(old)
        let error = try #require(hornbeamError { try context.save() })
        #expect(error.code.rawValue == 1560 && error.message == "There are 6 errors; each of them is among the details.")
        #expect(error.details.map(\.code.rawValue) == [1600, 1610, 1620, 1620, 1670, 1680])
        #expect(error.details.map(\.objectIDs).map(\.first).prefix(4) == [old.objectID, new.objectID, second.objectID, subject.objectID])
        #expect(Set(error.objectIDs) == [old.objectID, new.objectID, second.objectID, subject.objectID])
        #expect(hornbeamError { try context.save() } == error, "the same again, until it is put right")
        context.rollback()
        try context.save()
    }

    @Test("1.12: the codes have Core Data's numbers")
    func numbers() {
        let codes: [(HornbeamError.Code, Int)] = [
            (.validation, 1550), (.constraintValidation, 1551), (.multipleErrors, 1560), (.missingRequiredValue, 1570),
            (.tooFewObjects, 1580), (.tooManyObjects, 1590), (.deleteDenied, 1600), (.numberTooLarge, 1610), (.numberTooSmall, 1620),
            (.dateTooLate, 1630), (.dateTooSoon, 1640), (.invalidDate, 1650), (.stringTooLong, 1660), (.stringTooShort, 1670),
            (.stringPatternMismatch, 1680), (.uriNotRepresentable, 1690), (.contextLocked, 132_000), (.coordinatorLocked, 132_010),
            (.objectNotFound, 133_000), (.relationshipAcrossStores, 133_010), (.mergeConflict, 133_020), (.constraintConflict, 133_021),
            (.unknownStoreType, 134_000), (.storeTypeMismatch, 134_010), (.incompatibleSchema, 134_020), (.saveFailed, 134_030),
            (.incompleteSave, 134_040), (.saveConflicts, 134_050), (.general, 134_060), (.storeOperationFailed, 134_070),
            (.openFailed, 134_080), (.openTimedOut, 134_090), (.unsupportedRequest, 134_091), (.modelMismatch, 134_100),
            (.migrationFailed, 134_110), (.migrationConstraintViolation, 134_111), (.migrationCancelled, 134_120),
            (.missingSourceModel, 134_130), (.missingMappingModel, 134_140), (.migrationSourceStore, 134_150),
            (.migrationDestinationStore, 134_160), (.entityMigrationPolicy, 134_170), (.sqlite, 134_180), (.inferredMappingFailed, 134_190),
            (.externalRecordImport, 134_200), (.historyTokenExpired, 134_301), (.storeNotFoundInToken, 134_501),
            (.modelReferenceNotFound, 134_504), (.stagedMigrationFrameworkMismatch, 134_505), (.stagedMigrationBackwards, 134_506),
        ]
        for (code, number) in codes { #expect(code.rawValue == number) }
    }
}

extension ManagedObject {
    /// Sets a value without a check of its type, like a token of the wrong type.
    fileprivate func setPrimitive(_ value: PropertyValue, _ key: String) { self[Attribute<PropertyValue>(key)] = value }
}
