/// Two consecutive versions of the model of a real app, with the expected migration from one to the other.
///
/// The expected results were written by hand from the two files and the rules of MIG-2 and MIG-3.
struct VersionPair: Sendable, CustomStringConvertible {
    let bundle: String
    let old: String
    let new: String
    /// The inferred mapping, entity by entity.
    let mapping: String
    /// The required relationship that old objects have none in; nil where the data breaks no rule.
    var missing: String?

    var description: String { "\(bundle): \(old) to \(new)" }

    static let all = [
        VersionPair(
            bundle: "JohnEstropia+CoreStore/Advanced.EvolutionDemo.V1.xcdatamodeld",
            old: "Advanced.EvolutionDemo.V1", new: "Advanced.EvolutionDemo.V2",
            mapping: """
                Creature: changed
                  + hasHead, new, with its default value
                  + hasTail, new, with its default value
                  + hasVertebrae, new, with its default value
                  + numberOfFlippers, new, with its default value
                  - numberOfFlagella, removed
                """),
        VersionPair(
            bundle: "jessesquires+JSQCoreDataKit/ExampleModel.xcdatamodeld", old: "Version 1", new: "Version 2",
            mapping: """
                Employee: changed
                  + companyDateFounded, new, with its default value
                  + companyName, new, with its default value
                  + companyProfits, new, with its default value
                """),
        VersionPair(
            bundle: "jessesquires+JSQCoreDataKit/ExampleModel.xcdatamodeld", old: "Version 2", new: "Version 3",
            mapping: """
                Company: added
                Employee: changed
                  + company, new, empty
                  - companyDateFounded, removed
                  - companyName, removed
                  - companyProfits, removed
                """),
        VersionPair(
            bundle: "matrix-org+matrix-ios-sdk/MXCoreDataRoomSummaryStore.xcdatamodeld",
            old: "MXRoomSummaryCoreDataStore", new: "MXRoomSummaryCoreDataStore2",
            mapping: """
                MXRoomLastMessage: changed
                  + s_sensitiveData, new, with its default value
                  - s_attributedText, removed
                  - s_others, removed
                  - s_text, removed
                MXRoomSummary: changed
                  + s_historyVisibility, new, with its default value
                """),
        VersionPair(
            bundle: "objcio+core-data/Moody.xcdatamodeld", old: "Moody", new: "Moody 2",
            mapping: """
                Mood: changed
                  + rating, new, with its default value
                  ~ remoteID, renamed from remoteIdentifier
                """),
        VersionPair(
            bundle: "objcio+core-data/Moody.xcdatamodeld", old: "Moody 2", new: "Moody 3",
            mapping: """
                Continent: changed
                  + moods, new, empty
                Mood: changed
                  + continent, new, empty
                """, missing: "moods"),
        VersionPair(
            bundle: "objcio+core-data/Moody.xcdatamodeld", old: "Moody 3", new: "Moody 4",
            mapping: """
                Continent: changed
                Country: changed
                GeographicRegion: removed with its objects
                """),
        VersionPair(
            bundle: "objcio+core-data/Moody.xcdatamodeld", old: "Moody 4", new: "Moody 5",
            mapping: """
                Country: changed
                  + isoContinent, new, with its default value
                  - continent, removed
                Mood: changed
                  - continent, removed
                Continent: removed with its objects
                """),
        VersionPair(
            bundle: "objcio+core-data/Moody.xcdatamodeld", old: "Moody 5", new: "Moody 6",
            mapping: """
                Continent: added
                Country: changed
                  + continent, new, empty
                  - isoContinent, removed
                """),
        VersionPair(
            bundle: "project-imas+encrypted-core-data/Migration.xcdatamodeld", old: "Migration", new: "New",
            mapping: """
                Task: changed
                  + newAttribute, new, with its default value
                TaskStatusUpdate: changed
                  + updateText, new, with its default value
                """),
    ]
}
