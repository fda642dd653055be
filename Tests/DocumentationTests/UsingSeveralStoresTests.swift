import Foundation
import Hornbeam
import Testing

/// The code of the article “Use several stores”.
@Suite struct UsingSeveralStoresTests {
    @Entity final class Photo: ManagedObject {
        var title: String
    }

    @Entity final class Thumbnail: ManagedObject {
        var photo: ManagedObjectID
        var image: Data
    }

    @Test func saveReachesBothStores() throws {
        let folder = try TemporaryFolder()
        let url = folder.url.appending(path: "Photos.hornbeam")
        // snippet
        let model = try ManagedObjectModel(for: Photo.self, Thumbnail.self) {
            Configuration("Lasting", ["Photo"])
            Configuration("Cache", ["Thumbnail"])
        }
        var lasting = PersistentStoreDescription(url: url)
        lasting.configurationName = "Lasting"
        var cache = PersistentStoreDescription.inMemory()
        cache.configurationName = "Cache"

        let container = try PersistentContainer(name: "Photos", model: model, classes: [Photo.self, Thumbnail.self])
        container.persistentStoreDescriptions = [lasting, cache]
        try container.loadPersistentStores()
        // end
        // snippet
        try container.write { context in
            let photo = Photo(in: context, title: "Harbour")
            try context.obtainPermanentIDs(for: [photo])
            Thumbnail(in: context, photo: photo.objectID, image: Data([1, 2, 3]))
        }
        // end
        let title = try container.read { context in
            let thumbnail = try context.fetch(FetchRequest<Thumbnail>())[0]
            return try context.existingObject(Photo.self, with: thumbnail.photo).title
        }
        #expect(title == "Harbour")
        try container.close()
    }
}
