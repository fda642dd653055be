import Foundation
import Hornbeam
import HornbeamStore
import Testing

/// No relationship leads to an object that was deleted, here or by others, before or after the link was made.
@Suite struct DeletedMemberTests {
    final class Photo: ManagedObject {
        static let name = Attribute<String?>("name")
        static let tags = ToMany<Album>("tags", to: "Album", inverse: "tagged")
        static let box = ToOne<Album>("box", to: "Album", inverse: "content")
    }

    final class Album: ManagedObject {
        static let title = Attribute<String?>("title")
        /// Without an inverse.
        static let photos = ToMany<Photo>("photos", to: "Photo")
        /// Without an inverse.
        static let ranking = OrderedToMany<Photo>("ranking", to: "Photo")
        static let tagged = ToMany<Photo>("tagged", to: "Photo", inverse: "tags")
        static let content = OrderedToMany<Photo>("content", to: "Photo", inverse: "box")

        /// Adds a photo to every relationship.
        func add(_ photo: Photo) {
            self[Self.photos].insert(photo)
            self[Self.ranking].append(photo)
            self[Self.tagged].insert(photo)
            self[Self.content].append(photo)
        }

        /// The names of the members of each relationship.
        var names: [[String]] {
            let all = [Array(self[Self.photos]), Array(self[Self.ranking]), Array(self[Self.tagged]), Array(self[Self.content])]
            return all.map { $0.map { $0[Photo.name] ?? "-" } }
        }

        var counts: [Int] { [self[Self.photos].count, self[Self.ranking].count, self[Self.tagged].count, self[Self.content].count] }
    }

    static func stack(_ kind: StoreKind) throws -> Stack {
        let model = try ManagedObjectModel {
            Entity("Photo") { Photo.name; Photo.tags; Photo.box }
            Entity("Album") { Album.title; Album.photos; Album.ranking; Album.tagged; Album.content }
        }
        return try Stack(kind, model, [Photo.self, Album.self])
    }

    /// An album with two photos in each relationship.
    private static func make(in context: ManagedObjectContext) -> (Album, [Photo]) {
        let album = Album(context: context)
        let photos = ["a", "b"].map { name in
            let photo = Photo(context: context)
            photo[Photo.name] = name
            album.add(photo)
            return photo
        }
        return (album, photos)
    }

    private static func expect(_ names: [String], of album: ManagedObjectID, in stack: Stack) throws {
        let stored = try stack.newContext().existingObject(Album.self, with: album)
        #expect(stored.names == Array(repeating: names, count: 4))
        #expect(stored.counts == Array(repeating: names.count, count: 4))
        #expect(try stack.container.openStore().check().problems == [])
    }

    @Test("REL-4, DEL-2: a member that the same context deletes is no member after the save, with and without an inverse",
          arguments: Setting.all)
    func deletedHere(setting: Setting) throws {
        let stack = try Self.stack(setting.kind)
        let context = setting.context(of: stack)
        let (album, photos) = Self.make(in: context)
        if setting.isSaved { try context.saveToStore() }
        if setting.isBusy { album[Album.title] = "busy" }
        context.delete(photos[0])
        try context.saveToStore()
        #expect(album.names == Array(repeating: ["b"], count: 4) && album.counts == [1, 1, 1, 1])
        try Self.expect(["b"], of: album.objectID, in: stack)
    }

    @Test("REL-4, DEL-2: if another context deletes a stored member, it is no longer a member in a context that follows, changed or not",
          arguments: Setting.saved.filter(\.follows))
    func deletedByOthers(setting: Setting) throws {
        let stack = try Self.stack(setting.kind)
        let context = setting.context(of: stack)
        let (album, photos) = Self.make(in: context)
        try context.saveToStore()
        if setting.isBusy {
            let new = Photo(context: context)
            new[Photo.name] = "c"
            album.add(new)
        }
        let other = stack.newContext()
        other.delete(try other.existingObject(Photo.self, with: photos[0].objectID))
        try other.save()
        try context.mergeChanges()
        let expected = setting.isBusy ? ["b", "c"] : ["b"]
        #expect(album.names == Array(repeating: expected, count: 4))
        try context.saveToStore()
        try Self.expect(expected, of: album.objectID, in: stack)
    }

    @Test("REL-4, DEL-2: a member that was added in this context and then deleted by another is not stored",
          arguments: Setting.saved)
    func addedHereAndDeletedByOthers(setting: Setting) throws {
        let stack = try Self.stack(setting.kind)
        let context = setting.context(of: stack)
        context.mergePolicy = .mergeByPropertyStoreTrump
        context.parent?.mergePolicy = .mergeByPropertyStoreTrump
        let album = Album(context: context)
        let photos = ["a", "b"].map { name in
            let photo = Photo(context: context)
            photo[Photo.name] = name
            return photo
        }
        try context.saveToStore()
        for photo in photos { album.add(photo) }
        let other = stack.newContext()
        other.delete(try other.existingObject(Photo.self, with: photos[0].objectID))
        try other.save()
        try context.saveToStore()
        #expect(album.names == Array(repeating: ["b"], count: 4) && album.counts == [1, 1, 1, 1])
        try Self.expect(["b"], of: album.objectID, in: stack)
    }

    @Test("REL-4, DEL-2, NOT-7: a member that was added in this context is removed when the deletion by another is merged, before the save",
          arguments: Setting.saved.filter { $0.follows && !$0.isChild })
    func addedMembersVanishAtTheMerge(setting: Setting) throws {
        let stack = try Self.stack(setting.kind)
        let context = setting.context(of: stack)
        let album = Album(context: context)
        let photo = Photo(context: context)
        try context.saveToStore()
        if setting.isBusy { album[Album.title] = "busy" }
        album[Album.photos].insert(photo)
        album[Album.ranking].append(photo)
        album[Album.tagged].insert(photo)
        let other = stack.newContext()
        other.delete(try other.existingObject(Photo.self, with: photo.objectID))
        try other.save()
        try context.mergeChanges()
        #expect(album.names == [[], [], [], []] && album.counts == [0, 0, 0, 0])
        #expect(album.hasChanges == setting.isBusy && context.hasChanges == setting.isBusy)
        try context.save()
        try Self.expect([], of: album.objectID, in: stack)
    }

    @Test("REL-4, QGN-1: a member that was deleted while the context was pinned is removed when the context returns to the newest state",
          .refusedByServer(.generations), arguments: StoreKind.allCases)
    func addedMembersVanishAfterPinning(kind: StoreKind) throws {
        let stack = try Self.stack(kind)
        let context = stack.newContext()
        let album = Album(context: context)
        let photo = Photo(context: context)
        try context.save()
        try context.setQueryGeneration(from: .current)
        album[Album.photos].insert(photo)
        album[Album.ranking].append(photo)
        let other = stack.newContext()
        other.delete(try other.existingObject(Photo.self, with: photo.objectID))
        try other.save()
        #expect(album.counts == [1, 1, 0, 0])
        try context.setQueryGeneration(from: nil)
        try context.mergeChanges()
        #expect(album.counts == [0, 0, 0, 0] && album.names == [[], [], [], []])
        try context.save()
        try Self.expect([], of: album.objectID, in: stack)
    }

    @Test("REL-4, DEL-2: members that were added to an owner that another context has deleted since are not stored",
          arguments: Setting.saved)
    func ownerDeletedByOthers(setting: Setting) throws {
        let stack = try Self.stack(setting.kind)
        let context = setting.context(of: stack)
        context.mergePolicy = .mergeByPropertyStoreTrump
        context.parent?.mergePolicy = .mergeByPropertyStoreTrump
        let album = Album(context: context)
        let photo = Photo(context: context)
        try context.saveToStore()
        album[Album.photos].insert(photo)
        album[Album.ranking].append(photo)
        album[Album.tagged].insert(photo)
        photo[Photo.name] = "changed"
        let other = stack.newContext()
        other.delete(try other.existingObject(Album.self, with: album.objectID))
        try other.save()
        try context.saveToStore()
        let stored = try stack.newContext().existingObject(Photo.self, with: photo.objectID)
        #expect(stored[Photo.name] == "changed" && stored[Photo.tags].isEmpty)
        #expect(try stack.container.openStore().check().problems == [])
    }
}
