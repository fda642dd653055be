import Foundation
import Hornbeam
import Testing

/// Hornbeam's code in `Docs/ComingFromRealm.md`.
@Suite @MainActor struct ComingFromRealmTests {
    // snippet
    @Entity final class Person: ManagedObject {
        @Attribute(.unique) var mail: String
        var name: String = ""
        var dogs: [Dog]
    }

    @Entity final class Dog: ManagedObject {
        var name: String
        var age: Int
        var owner: Person?
    }
    // end

    private func filled(_ url: URL) throws -> PersistentContainer {
        // snippet
        let container = try PersistentContainer.open(at: url, for: Person.self, Dog.self)
        try container.write { context in
            let person = try context.upsert(Person.self, where: Person.mail, is: "ada@example.org")
            person.name = "Ada"
            person.dogs.append(Dog(in: context, name: "Rex", age: 4))
        }
        // end
        return container
    }

    @Test func objectsAreQueried() async throws {
        let folder = try TemporaryFolder()
        let container = try filled(folder.url.appending(path: "Dogs.hornbeam"))
        let context = container.viewContext
        // snippet
        let dogs = try context.fetch(
            FetchRequest<Dog>()
                .where { $0.age > 3 && $0.name.beginsWith("R") }
                .sorted(by: \.name))
        let people = try context.fetch(FetchRequest<Person>().where { $0.dogs.any.age > 3 })
        let average = try context.fetch(Dog.select(\.age.average))
        // end
        #expect(dogs.map(\.name) == ["Rex"] && people.map(\.name) == ["Ada"])
        #expect(average[0] == 4)
        let dog = dogs[0]
        // snippet
        let id = dog.objectID
        try await container.write { context in
            let dog = try context.existingObject(Dog.self, with: id)
            dog.age += 1
        }
        let frozen = dog.snapshot       // a value: Sendable and Codable
        print(frozen.name)
        // end
        #expect(try context.count(FetchRequest<Dog>().where { $0.age == 5 }) == 1)
        // snippet
        let controller = try FetchedResultsController(FetchRequest<Dog>().sorted(by: \.name), in: context)
        controller.onChange = { changes in
            for change in changes.objects { print(change) }
        }
        try controller.performFetch()
        // end
        #expect(controller.fetchedObjects?.count == 1)
        try container.close()
    }

    private enum Second {
        @Entity final class Person: ManagedObject {
            @Attribute(.unique) var mail: String
            var name: String = ""
            var dogs: [Dog]
        }

        // snippet
        @Entity final class Dog: ManagedObject {
            @Attribute(renamedFrom: "name") var call: String
            var age: Int
            var owner: Person?
        }
        // end
    }

    @Test func renamedPropertyKeepsItsValues() throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Dogs.hornbeam")
        try filled(url).close()
        let container = try PersistentContainer.open(at: url, for: Second.Person.self, Second.Dog.self)
        #expect(try container.viewContext.fetch(FetchRequest<Second.Dog>()).map(\.call) == ["Rex"])
        try container.close()
    }
}
