import Foundation
import Hornbeam
import Testing

/// The code of the article “Test your code”.
enum TestingYourCodeTests {
    @Entity final class Account: ManagedObject {
        var name: String
        @Attribute(minimum: 0) var balance: Int = 0
    }

    // snippet
    struct AccountTests {
        let bank: PersistentContainer

        init() throws { bank = try PersistentContainer.inMemory(for: Account.self) }

        @Test func balanceCannotBeNegative() throws {
            let error = #expect(throws: HornbeamError.self) {
                try bank.write { context in _ = Account(in: context, name: "Ada", balance: -1) }
            }
            #expect(error?.code == .numberTooSmall)
            #expect(try bank.read { try $0.count(FetchRequest<Account>()) } == 0)
        }
    }
    // end

    struct EnvironmentTests {
        // snippet
        @Test func storeOfAnotherProgramIsRefused() throws {
            let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try Data("no store".utf8).write(to: url)
            defer { try? FileManager.default.removeItem(at: url) }
            let error = #expect(throws: HornbeamError.self) { try PersistentContainer.open(at: url, for: Account.self) }
            #expect(error?.code == .notAStore)
        }
        // end
    }
}
