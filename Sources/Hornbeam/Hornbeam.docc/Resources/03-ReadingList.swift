import Foundation
import Hornbeam

@Entity final class Book: ManagedObject {
    @Attribute(.unique) var title: String
    var added: Date = .now
    var isRead: Bool = false
}

@main struct ReadingList {
    static func main() throws {
        let url = URL(filePath: "ReadingList.hornbeam")
        let container = try PersistentContainer.open(at: url, for: Book.self)
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "add" where words.count == 2: try add(words[1], to: container)
        default: print("usage: ReadingList add TITLE")
        }
        try container.close()
    }

    static func add(_ title: String, to container: PersistentContainer) throws {
        do {
            try container.write { context in _ = Book(in: context, title: title) }
            print("added \(title)")
        } catch let error as HornbeamError where error.code == .constraintConflict {
            print("\(title) is on the list already")
        }
    }
}
