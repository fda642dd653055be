import Hornbeam

@Entity final class Author: ManagedObject {
    @Attribute(.unique) var number: Int
    var stamp = 0
    @Relationship(deleteRule: .cascade) var books: ManagedSet<Book>
}

@Entity final class Book: ManagedObject {
    #Index<Book>([\.title])
    @Attribute(.unique) var number: Int
    var title: String
    var author: Author?
    var tags: ManagedSet<Tag>
}

@Entity final class Tag: ManagedObject {
    @Attribute(.unique) var number: Int
    var books: ManagedSet<Book>
}

/// Each step inserts a mark. The newest mark has the number of the last step in the store.
@Entity final class Mark: ManagedObject {
    #Index<Mark>([\.step])
    var step: Int
    var part = 0
}

/// The model of the object graph in crash and kill trials.
enum TrialModel {
    static let classes: [ManagedObject.Type] = [Author.self, Book.self, Tag.self, Mark.self]

    static func make() throws -> ManagedObjectModel { try ManagedObjectModel(for: classes) }
}
