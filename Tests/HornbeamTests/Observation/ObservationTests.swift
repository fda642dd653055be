import Foundation
import Hornbeam
import Observation
import Testing

@Suite("Observation") @MainActor struct ObservationTests {
    /// True when an observer that has read the property is notified of a change.
    private func hears(_ read: () -> Void, _ change: () throws -> Void) rethrows -> Bool {
        let heard = Flag()
        withObservationTracking(read) { heard.raise() }
        try change()
        return heard.isRaised
    }

    // Only the main actor reads and writes it.
    private final class Flag: @unchecked Sendable {
        private(set) var isRaised = false
        func raise() { isRaised = true }
    }

    @Test("OBJ-18: observers of a property are notified when it changes, and of no other change", arguments: StoreKind.allCases)
    func observersHear(kind: StoreKind) throws {
        let view = try Stack(kind, Company.model(), Company.classes).container.viewContext
        let (ada, grace) = (Employee(context: view), Employee(context: view))
        (ada.name, grace.name) = ("Ada", "Grace")
        try view.save()
        #expect(hears({ _ = ada.name }) { ada.name = "Ada L." })
        #expect(!hears({ _ = ada.name }) { ada.salary = 3 })
        #expect(!hears({ _ = ada.name }) { grace.name = "G." })
        #expect(!hears({ _ = ada.name }) { ada.name = "Ada L." }, "an equal value is no change")
        #expect(hears({ _ = ada.hired }) { ada.hired = Date() })
        #expect(hears({ _ = try? ada.value(forKey: "isActive") }) { ada.isActive = false })
    }

    @Test("OBJ-18: an observer is notified once, and again after it has read the property again", arguments: StoreKind.allCases)
    func observersHearOnce(kind: StoreKind) throws {
        let view = try Parity.stack(kind).container.viewContext
        let object = PEntity(context: view)
        for number in 1...3 { #expect(hears({ _ = object.name }) { object.name = "\(number)" }) }
    }

    @Test("REL-3: observers are notified of relationships at both ends", arguments: StoreKind.allCases)
    func relationshipsAreObserved(kind: StoreKind) throws {
        let view = try Stack(kind, Company.model(), Company.classes).container.viewContext
        let department = Department(context: view)
        let ada = Employee(context: view)
        (department.name, ada.name) = ("d", "Ada")
        try view.save()
        #expect(hears({ _ = department.employees.count }) { ada.department = department })
        #expect(hears({ _ = ada.department }) { department.employees.removeAll() })
        #expect(hears({ for employee in department.employees { _ = employee } }) { department.employees.insert(ada) })
    }

    @Test("NOT-9: observers are notified of saves of other contexts, of refreshes and of rollbacks", arguments: StoreKind.allCases)
    func changesOfOtherContextsNotify(kind: StoreKind) throws {
        let container = try Parity.stack(kind).container
        let view = container.viewContext
        let object = PEntity(context: view)
        try view.save()
        let id = object.objectID
        let isHeard = try hears({ _ = object.name }) {
            try container.performAndWait { context in
                try context.existingObject(PEntity.self, with: id).name = "theirs"
                try context.save()
            }
            try view.mergeChanges()
        }
        #expect(isHeard && object.name == "theirs")
        object.name = "mine"
        #expect(hears({ _ = object.name }) { view.rollback() })
        #expect(try hears({ _ = object.name }) { try view.refresh(object, mergeChanges: false) })
    }

    @Test("objects of contexts that are not observable have no observation cost, and contexts can be made observable")
    func observabilityIsPerContext() throws {
        let context = try Parity.stack(.inMemory).newContext()
        let object = PEntity(context: context)
        #expect(!context.isObservable)
        #expect(!hears({ _ = object.name }) { object.name = "a" })
        context.isObservable = true
        #expect(hears({ _ = object.name }) { object.name = "b" })
    }

    @Test("Observations returns the values as they change", .timeLimit(.minutes(20)))
    func observationsGiveValues() async throws {
        let view = try Parity.stack(.inMemory).container.viewContext
        let object = PEntity(context: view)
        object.counter = 1
        var values = Observations { object.counter }.makeAsyncIterator()
        #expect(await values.next() == 1)
        object.counter = 2
        #expect(await values.next() == 2)
    }
}
