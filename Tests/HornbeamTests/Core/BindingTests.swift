import Foundation
import Hornbeam
import Testing

/// A class that differs from its entity in every respect.
final class Misfit: ManagedObject {
    override class var tokens: [any PropertyToken] {
        [
            Attribute<Int>("name"), Attribute<String?>("title"), Attribute<Double>("rating"),
            ToMany<Department>("owner", to: "Owner"), ToOne<Department>("size", to: "Owner"), Attribute<Bool>("nmae"),
        ]
    }
}

final class Nowhere: ManagedObject {}

class Vehicle: ManagedObject {
    static let wheels = Attribute<Int>("wheels", default: 4)
    var wheels: Int { get { self[Self.wheels] } set { self[Self.wheels] = newValue } }
}

final class Truck: Vehicle {
    static let load = Attribute<Double>("load", default: 0)
    override class var entityName: String { "Lorry" }
    var load: Double { get { self[Self.load] } set { self[Self.load] = newValue } }
}

@Suite struct BindingTests {
    @Test("every mismatch between classes and model is reported in one error")
    func allMismatchesTogether() throws {
        let model = try ManagedObjectModel {
            Entity("Misfit") {
                Attribute<String>("name")
                Attribute<String>("title")
                Attribute<Double?>("rating")
                Attribute<Int>("size")
                ToOne("owner", to: "Owner")
            }
            Entity("Owner") { Attribute<String?>("name") }
        }
        let error = try #require(hornbeamError {
            _ = try PersistentContainer(name: "x", model: model, classes: [Misfit.self, Nowhere.self])
        })
        #expect(error.description == """
            Error 1560 (multipleErrors): There are 8 errors; each of them is among the details.
              - Error 9005 (unboundClass) at Misfit.name: The class Misfit does not fit: it is integer64 in the class and string in the model.
              - Error 9005 (unboundClass) at Misfit.title: The class Misfit does not fit: it is required in the model, and the class declares an \
            optional type.
              - Error 9005 (unboundClass) at Misfit.rating: The class Misfit does not fit: it may be nil in the model, and the class declares a \
            type without nil.
              - Error 9005 (unboundClass) at Misfit.owner: The class Misfit does not fit: it is to many in the class and to one in the model.
              - Error 9005 (unboundClass) at Misfit.size: The class Misfit does not fit: it is a relationship in the class and an attribute in \
            the model.
              - Error 9005 (unboundClass) at Misfit.nmae: The class Misfit does not fit: the entity has no property of that name (did you mean \
            “name”?).
              - Error 9005 (unboundClass): The model has no entity for the class Nowhere. Override `entityName` in the class, or name the class \
            in the entity.
              - Error 9005 (unboundClass) at Misfit.owner: The class Misfit does not fit: the relationship leads to objects of Owner, which are of \
            class ManagedObject, not Department. Name Department in `classes` when the container is made.
            """)
    }

    @Test("classes are bound by name, by entityName, and from superentities", arguments: StoreKind.allCases)
    func boundByNameAndInherited(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Car", className: ".Vehicle") {
                Vehicle.wheels
                ToOne("owner", to: "Owner", inverse: "cars")
            }
            Entity("Bus", parent: "Car") { Attribute<Int?>("seats") }
            Entity("Lorry", parent: "Car") { Truck.load }
            Entity("Owner") { ToMany("cars", to: "Car", inverse: "owner") }
        }
        let stack = try Stack(kind, model, [Vehicle.self, Truck.self])
        let context = stack.newContext()
        let truck = Truck(context: context)
        truck.load = 2.5
        let bus = try context.insert(entityNamed: "Bus")
        #expect(truck.entity.name == "Lorry" && truck.wheels == 4 && type(of: bus) == Vehicle.self)
        let owner = try context.insert(entityNamed: "Owner")
        #expect(type(of: owner) == ManagedObject.self)
        for car in [truck, bus] { try car.setValue(owner, forKey: "owner") }
        try context.save()
        let cars = try stack.newContext().fetch(FetchRequest<Vehicle>(entityName: "Car"))
        #expect(cars.map(\.wheels) == [4, 4])
        let lorries = try stack.newContext().fetch(FetchRequest<Truck>())
        #expect(lorries.map(\.load) == [2.5])
        let wrong = hornbeamError { _ = try context.fetch(FetchRequest<Truck>(entityName: "Bus")) }
        #expect(wrong?.code == .unboundClass)
    }

    @Test("OBJ-16: a class that is bound to several entities determines none; requests and insertions name the entity", arguments: StoreKind.allCases)
    func classesOfSeveralEntities(kind: StoreKind) throws {
        let model = try ManagedObjectModel {
            Entity("Car", className: ".Vehicle") { Vehicle.wheels }
            Entity("Bus", className: ".Vehicle") { Vehicle.wheels }
        }
        let context = try Stack(kind, model, [Vehicle.self]).newContext()
        for name in ["Car", "Bus", "Bus"] { try context.insert(entityNamed: name) }
        #expect(try context.fetch(FetchRequest<Vehicle>(entityName: "Bus")).count == 2)
        #expect(hornbeamError { _ = try context.fetch(FetchRequest<Vehicle>()) }?.code == .unknownEntity)
    }

    /// Found with a class missing in `classes`: the getter ended the process at the first access to the relationship.
    @Test("OBJ-16, REL-1: a typed relationship whose class is not bound is an error when the container is made")
    func relationshipsLeadToBoundClasses() throws {
        let error = hornbeamError {
            _ = try PersistentContainer(name: "x", model: Company.model(), classes: [Employee.self, Project.self, Step.self])
        }
        #expect(error?.code == .unboundClass && error?.entity == "Employee" && error?.key == "department")
        #expect(error?.message.contains("objects of Department, which are of class ManagedObject, not Department. Name Department in `classes`") == true)
        let two = hornbeamError { _ = try PersistentContainer(name: "x", model: Company.model(), classes: [Employee.self]) }
        #expect(two?.details.map(\.key) == ["department", "projects"])
        _ = try PersistentContainer(name: "x", model: Company.model())
    }

    #if !os(iOS)
    @Test("OBJ-16: making an object of such a class ends with a sentence")
    func makingAnObjectOfSeveralEntities() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let model = try ManagedObjectModel {
                Entity("Car", className: ".Vehicle") { Vehicle.wheels }
                Entity("Bus", className: ".Vehicle") { Vehicle.wheels }
            }
            _ = Vehicle(context: try PersistentContainer.inMemory(model: model, classes: [Vehicle.self]).newContext())
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("The class Vehicle is not bound to exactly one entity"))
    }
    #endif
}
