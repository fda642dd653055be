import Foundation
import Hornbeam
import Testing

/// The code of the article “Save changes”.
@Suite @MainActor struct SavingChangesTests {
    @Entity final class Member: ManagedObject {
        @Attribute(.unique) var mail: String
        @Attribute(minimumLength: 1) var name: String
        var visits: Int = 0
    }

    private let container: PersistentContainer

    init() throws { container = try PersistentContainer.inMemory(for: Member.self) }

    @Test func writeSavesAtItsEnd() async throws {
        // snippet
        let id = try await container.write { context in
            Member(in: context, mail: "ada@example.org", name: "Ada").objectID
        }
        // end
        // snippet
        let context = container.viewContext
        let ada = try context.existingObject(Member.self, with: id)
        ada.visits += 1
        try context.save()
        // end
        #expect(try container.newContext().existingObject(Member.self, with: id).visits == 1)
    }

    @Test func violationsAreErrors() throws {
        let context = container.viewContext
        Member(in: context, mail: "ada@example.org", name: "")
        // snippet
        do {
            try context.save()
        } catch let error as HornbeamError where error.code == .stringTooShort {
            print(error.message)
            context.rollback()
        }
        // end
        #expect(!context.hasChanges)
    }

    @Test func policyDecidesConflicts() throws {
        let id = try container.write { Member(in: $0, mail: "ada@example.org", name: "Ada").objectID }
        // snippet
        let context = container.newContext()
        context.mergePolicy = .mergeByPropertyObjectTrump      // the values of this context win
        // end
        let ada = try context.existingObject(Member.self, with: id)
        ada.name = "Ada L."
        try container.write { try $0.existingObject(Member.self, with: id).name = "A. Lovelace" }
        try context.save()
        #expect(try container.read { try $0.existingObject(Member.self, with: id).name } == "Ada L.")
    }

    @Test func upsertFindsOrMakes() throws {
        try container.write { context in
            // snippet
            let member = try context.upsert(Member.self, where: Member.mail, is: "grace@example.org")
            member.name = "Grace"
            // end
        }
        try container.write { try $0.upsert(Member.self, where: Member.mail, is: "grace@example.org").visits = 3 }
        #expect(try container.read { try $0.fetch(FetchRequest<Member>()).map(\.visits) } == [3])
    }

    @Test func batchesChangeRows() throws {
        let context = container.newContext()
        // snippet
        let insert = BatchInsertRequest(Member.self, from: 1...1_000) { number, row in
            row.set(Member.mail, "\(number)@example.org")
            row.set(Member.name, "Member \(number)")
        }
        try context.execute(insert)

        var update = BatchUpdateRequest(Member.self, predicate: Member.visits == 0)
        update.set(Member.visits, to: 1)
        try context.execute(update)
        // end
        #expect(try context.count(FetchRequest<Member>().where { $0.visits == 1 }) == 1_000)
    }
}
