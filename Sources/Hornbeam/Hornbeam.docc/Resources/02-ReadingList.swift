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
        print("The list is open.")
        try container.close()
    }
}
