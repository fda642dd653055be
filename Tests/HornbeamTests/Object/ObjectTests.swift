import Foundation
import Hornbeam
import Testing

@Suite struct ObjectTests {
    @Test("MOC-9, ATT-4: a new object has its defaults and a temporary ID", arguments: Setting.saved)
    func newObjectHasDefaultsAndTemporaryID(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        #expect(object.counter == 7)
        #expect(object.name == nil)
        #expect(object.objectID.isTemporaryID)
        #expect(object.isInserted && object.hasChanges && !object.isFault && !object.isUpdated)
        #expect(context.insertedObjects == [object])
        #expect(context.hasChanges)
    }

    @Test("ATT-4: defaults survive save and refaulting (object.004, object.005)", arguments: Setting.saved)
    func defaultsSurviveSaveAndRefaulting(setting: Setting) throws {
        let stack = try Parity.stack(setting.kind)
        let context = setting.context(of: stack)
        let object = PEntity(context: context)
        try context.saveToStore()
        try context.refresh(object, mergeChanges: true)
        #expect(object.isFault)
        #expect(object.counter == 7)
        let other = stack.newContext()
        let same = try other.existingObject(PEntity.self, with: object.objectID)
        #expect(same.counter == 7 && !same.isFault)
    }

    @Test("every type of attribute keeps its value over save and reopening", arguments: StoreKind.allCases)
    func valuesOfAllTypesSurvive(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Everything") {
                Attribute<Int16>("small")
                Attribute<Int32>("medium")
                Attribute<Int64>("large")
                Attribute<Double>("double")
                Attribute<Float>("float")
                Attribute<Decimal>("decimal")
                Attribute<String>("text")
                Attribute<Bool>("truth")
                Attribute<Date>("date")
                Attribute<Data>("data")
                Attribute<UUID>("uuid")
                Attribute<URL>("uri")
                Attribute<String?>("nothing")
            }
        }
        let values: [String: PropertyValue] = [
            "small": .int(-32768), "medium": .int(2_147_483_647), "large": .int(.max), "double": .double(-0.1),
            "float": .double(1.5), "decimal": .decimal(Decimal(string: "12345678901234567890.123456789")!),
            "text": .string("Grüße, 世界 👩‍👩‍👧"), "truth": .bool(true),
            "date": .date(Date(timeIntervalSinceReferenceDate: 1234.5)), "data": .data(Data([0, 255, 7])),
            "uuid": .uuid(UUID()), "uri": .uri(URL(string: "https://example.org/a?b=c")!), "nothing": .null,
        ]
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        let object = try context.insert(entityNamed: "Everything")
        for (key, value) in values { try object.setValue(value, forKey: key) }
        try context.save()
        let read = try stack.newContext().existingObject(with: object.objectID)
        for (key, value) in values { #expect(try read.value(forKey: key) == value, "\(key)") }
    }

    @Test("OBJ-10, OBJ-12: changed and committed values around a save (object.009)", arguments: Setting.saved)
    func changedAndCommittedValues(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        object.name = "committed"
        try context.saveToStore()
        object.name = "pending"
        #expect(object.changedValues == ["name": "pending"])
        #expect(object.committedValues(forKeys: ["name"]) == ["name": "committed"])
        #expect(object.isUpdated && object.hasPersistentChangedValues)
        try context.saveToStore()
        #expect(object.changedValues.isEmpty && !object.hasChanges)
        #expect(object.committedValues(forKeys: ["name"]) == ["name": "pending"])
    }

    @Test("OBJ-12: a committed nil is a null (object.024)", arguments: Setting.saved)
    func committedNilIsNull(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        try context.saveToStore()
        #expect(object.committedValues(forKeys: ["name"]) == ["name": .null])
    }

    @Test("1.29 no. 10: setting the stored value again is no change", arguments: Setting.saved)
    func equalValueIsNoChange(setting: Setting) throws {
        let context = setting.context(of: try Parity.stack(setting.kind))
        let object = PEntity(context: context)
        object.name = "a"
        try context.saveToStore()
        object.name = "a"
        #expect(!context.hasChanges)
        object.name = "b"
        object.name = "a"
        context.processPendingChanges()
        #expect(!context.hasChanges && object.changedValues.isEmpty)
    }

    @Test("OBJ-1, OBJ-5: hooks run in order, and isInserted is false in didSave (object.014)", arguments: StoreKind.allCases)
    func hooksRunInOrder(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let object = PHooked(context: context)
        try context.save()
        // willSave sets the note, so it is called a second time.
        #expect(object.calls == ["awakeFromInsert", "willSave", "willSave", "didSave"])
        #expect(object.wasInsertedInDidSave == false)
        #expect(object.note == "stamped")
        object.calls = []
        context.delete(object)
        try context.save()
        #expect(object.calls == ["prepareForDeletion", "willSave", "didSave"])
        #expect(object.managedObjectContext == nil)
    }

    @Test("OBJ-2: awakeFromFetch runs when a fault fires, and setting there is no change", arguments: StoreKind.allCases)
    func awakeFromFetchRunsAtFiring(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let id = try saved(PHooked(context: context), context)
        let other = stack.newContext()
        let object = try #require(other.object(with: id) as? PHooked)
        #expect(object.calls.isEmpty && object.isFault)
        _ = object.name
        #expect(object.calls == ["awakeFromFetch"] && !object.isFault)
        try other.refresh(object, mergeChanges: false)
        #expect(object.calls == ["awakeFromFetch", "willTurnIntoFault", "didTurnIntoFault"])
    }

    private func saved(_ object: ManagedObject, _ context: ManagedObjectContext) throws -> ManagedObjectID {
        try context.save()
        return object.objectID
    }

    @Test("OBJ-9: values by name are converted, unknown names and wrong types are errors", arguments: StoreKind.allCases)
    func dynamicAccess(kind: StoreKind) throws {
        let context = try Parity.stack(kind).newContext()
        let object = try context.insert(entityNamed: "PEntity")
        try object.setValue("12", forKey: "name")
        try object.setValue(3, forKey: "counter")
        object["score"] = 2
        #expect(object["name"] == "12" && object["counter"] == 3 && object["score"] == .double(2))
        let unknown = hornbeamError { try object.setValue("x", forKey: "nmae") }
        #expect(unknown?.code == .unknownKey)
        #expect(unknown?.message.contains("did you mean “name”?") == true)
        #expect(hornbeamError { try object.setValue(.data(Data()), forKey: "counter") }?.code == .typeMismatch)
        #expect(hornbeamError { _ = try context.insert(entityNamed: "PEntiti") }?.message.contains("PEntity") == true)
    }

    @Test("the description names entity, ID and state, and reads nothing", arguments: StoreKind.allCases)
    func descriptionTells(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let object = PEntity(context: context)
        object.name = "a"
        try context.save()
        #expect(object.description.contains("PEntity x-hornbeam"))
        let fault = stack.newContext().object(with: object.objectID)
        #expect(fault.description.hasSuffix("(fault)"))
        #expect(fault.isFault)
    }

    @Test("PSC-12: an ID converts to a URI and back", arguments: StoreKind.allCases)
    func identifierGoesThroughURI(kind: StoreKind) throws {
        let stack = try Parity.stack(kind)
        let context = stack.newContext()
        let object = PEntity(context: context)
        try context.save()
        let coordinator = stack.container.persistentStoreCoordinator
        let uri = object.objectID.uriRepresentation()
        #expect(coordinator.managedObjectID(forURIRepresentation: uri) == object.objectID)
        let other = try Parity.stack(kind)
        #expect(other.container.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri) == nil)
    }

    @Test("PSC-12: a URI with the number of a new object names no object, and the new object stays in its context", arguments: StoreKind.allCases)
    func uriWithTheNumberOfANewObject(kind: StoreKind) throws {
        let context = try Company.stack(kind).newContext()
        let stored = context.department("stored")
        try context.save()
        let department = context.department("new")
        let number = department.objectID.uriRepresentation().lastPathComponent.dropFirst()
        let text = stored.objectID.uriRepresentation().deletingLastPathComponent().appending(path: "p\(number)").absoluteString
        #expect(context.persistentStoreCoordinator.managedObjectID(for: text) == nil)
        let id = try #require(URL(string: text).flatMap(ManagedObjectID.init(uriRepresentation:)))
        #expect(hornbeamError { _ = try context.existingObject(with: id) }?.code == .objectNotFound)
        #expect(context.registeredObject(for: department.objectID) === department)
        context.employee("e").department = department
        try context.save()
    }

    @Test("PSC-12: a URI with the number of an object of another entity names no object, and that object stays in its context", arguments: StoreKind.allCases)
    func uriWithAnotherEntity(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let context = stack.newContext()
        let employee = context.employee("e")
        try context.save()
        employee.salary = 7
        let text = employee.objectID.uriRepresentation().absoluteString.replacing("/Employee/", with: "/Department/")
        let id = try #require(URL(string: text).flatMap(ManagedObjectID.init(uriRepresentation:)))
        #expect(hornbeamError { _ = try context.existingObject(with: id) }?.code == .objectNotFound)
        #expect(try context.fetch(FetchRequest<Employee>()) == [employee] && employee.salary == 7)
        let other = stack.newContext()
        #expect(hornbeamError { _ = try other.existingObject(with: id) }?.code == .objectNotFound)
        #expect(try other.fetch(FetchRequest<Employee>()).map(\.name) == ["e"])
    }

    @Test("MOC-14: a fault for an ID of another entity does not replace the object of the row", arguments: StoreKind.allCases)
    func faultWithAnotherEntity(kind: StoreKind) throws {
        let stack = try Company.stack(kind)
        let setup = stack.newContext()
        let employee = setup.employee("e")
        employee.salary = 7
        employee.department = setup.department("d")
        try setup.save()
        let text = employee.objectID.uriRepresentation().absoluteString.replacing("/Employee/", with: "/Department/")
        let id = try #require(URL(string: text).flatMap(ManagedObjectID.init(uriRepresentation:)))
        let reads: [(ManagedObjectContext) throws -> [String]] = [
            { context in try context.fetch(FetchRequest<Employee>()).map(\.name) },
            { context in try context.fetch(FetchRequest<Employee>().sorted(by: "salary")).map(\.name) },
            { context in [try context.existingObject(Employee.self, with: employee.objectID).name] },
            { context in try context.fetch(FetchRequest<Department>())[0].employees.map(\.name) },
            { context in try context.fetch(FetchRequest<Department>())[0].employees.sum(\.salary) == 7 ? ["e"] : [] },
            { context in try context.fetchLazily(FetchRequest<Employee>()).map(\.name) },
        ]
        for read in reads {
            let context = stack.newContext()
            let wrong = context.object(with: id)
            #expect(wrong.isFault && wrong.entity.name == "Department")
            #expect(try read(context) == ["e"])
            #expect(hornbeamError { try wrong.fire() }?.code == .objectNotFound)
            #expect(try read(context) == ["e"])
        }
    }

    @Test("a URL without parts keeps its value over save and reopening", arguments: StoreKind.own)
    func emptyURL(kind: StoreKind) throws {
        let model = try ManagedObjectModel { Entity("Page") { Attribute<URL?>("uri", indexed: true) } }
        let stack = try Stack(kind, model)
        let context = stack.newContext()
        let empty = try #require(URLComponents().url)
        let page = try context.insert(entityNamed: "Page")
        try page.setValue(empty, forKey: "uri")
        try context.save()
        let other = stack.newContext()
        #expect(try other.existingObject(with: page.objectID).value(forKey: "uri") == .uri(empty))
        #expect(try other.count(FetchRequest<ManagedObject>(entityName: "Page").where("uri == %@", empty)) == 1)
        let archive = try JSONEncoder().encode(PropertyValue.uri(empty))
        #expect(try JSONDecoder().decode(PropertyValue.self, from: archive) == .uri(empty))
    }

    @Test("MOC-17: permanent IDs before the save are kept by it (object.018, object.019)", arguments: Setting.saved)
    func permanentIDsBeforeSave(setting: Setting) throws {
        let context = setting.context(of: try Company.stack(setting.kind))
        let department = context.department("d")
        let employee = context.employee("e")
        employee.department = department
        let temporary = department.objectID
        try context.obtainPermanentIDs(for: [department])
        let permanent = department.objectID
        #expect(!permanent.isTemporaryID && permanent != temporary && department.isInserted)
        #expect(employee.department === department)
        #expect(context.object(with: permanent) === department)
        try context.saveToStore()
        #expect(department.objectID == permanent)
        #expect(employee.department === department && department.employees.count == 1)
        try context.obtainPermanentIDs(for: [department])
        #expect(department.objectID == permanent)
    }
}
