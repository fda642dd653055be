internal import HornbeamModel

/// Converts the elements of a `contents` file into a definition.
struct XcodeModelReader {
    var notes: [ModelIssue] = []
    var lines = SourceLines()

    mutating func read(_ model: XMLElementTree) -> ModelDefinition {
        checkAttributes(of: model, known: Self.modelAttributes)
        var definition = ModelDefinition()
        for child in model.children {
            switch child.name {
            case "entity": definition.entities.append(readEntity(child))
            case "composite": definition.composites.append(readComposite(child))
            case "fetchRequest":
                let template = readFetchRequest(child)
                lines.note(child.line, key: template.name)
                definition.fetchRequestTemplates.append(template)
            case "configuration": readConfiguration(child, into: &definition)
            case "elements": continue
            default: note(child, "the element <\(child.name)> is not known and was ignored")
            }
        }
        if let version = model.attributes["userDefinedModelVersionIdentifier"], !version.isEmpty {
            definition.versionIdentifiers = [version]
        }
        return definition
    }

    private static let modelAttributes: Set<String> = [
        "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion", "sourceLanguage",
        "userDefinedModelVersionIdentifier", "macOSVersion", "iOSVersion", "usedWithCloudKit", "usedWithSwiftData", "name",
    ]

    mutating func note(_ element: XMLElementTree, _ what: String, entity: String? = nil, key: String? = nil) {
        notes.append(ModelIssue(.warning, "In the model file, \(what).", entity: entity, key: key, line: element.line))
    }

    /// Reports unknown attributes of an element.
    mutating func checkAttributes(of element: XMLElementTree, known: Set<String>) {
        for name in element.attributes.keys.sorted() where !known.contains(name) {
            note(element, "the attribute “\(name)” of <\(element.name)> is not known and was ignored")
        }
    }

    /// The value of a flag, such as `YES`, `true` or `1`. Reports other values.
    mutating func flag(_ name: String, of element: XMLElementTree, default standard: Bool = false) -> Bool {
        guard let text = element.attributes[name] else { return standard }
        switch text {
        case "YES", "true", "1": return true
        case "NO", "false", "0": return false
        default:
            note(element, "“\(name)” is “\(text)”, which is neither YES nor NO, and was read as \(standard ? "YES" : "NO")")
            return standard
        }
    }

    mutating func number(_ name: String, of element: XMLElementTree) -> Int? {
        guard let text = element.attributes[name], !text.isEmpty else { return nil }
        if let number = Int(text) { return number }
        note(element, "“\(name)” is “\(text)”, which is not a whole number, and was ignored")
        return nil
    }

    /// The value of a required XML attribute. Reports a missing one.
    mutating func required(_ name: String, of element: XMLElementTree) -> String {
        if let text = element.attributes[name] { return text }
        notes.append(ModelIssue(.error, "The element <\(element.name)> has no “\(name)”: add it.", line: element.line))
        return ""
    }

    func readUserInfo(_ element: XMLElementTree) -> [String: String] {
        var entries: [String: String] = [:]
        for entry in element.children(named: "userInfo").flatMap({ $0.children(named: "entry") }) {
            if let key = entry.attributes["key"] { entries[key] = entry.attributes["value"] ?? "" }
        }
        return entries
    }

    private mutating func readConfiguration(_ element: XMLElementTree, into definition: inout ModelDefinition) {
        checkAttributes(of: element, known: ["name", "usedWithCloudKit"])
        let name = required("name", of: element)
        lines.note(element.line, key: name)
        var members: [String] = []
        for member in element.children(named: "memberEntity") {
            let entity = required("name", of: member)
            lines.note(member.line, entity: entity, key: name)
            members.append(entity)
        }
        definition.configurations[name] = members
    }

    mutating func readFetchRequest(_ element: XMLElementTree) -> FetchRequestTemplate {
        checkAttributes(of: element, known: Self.fetchRequestAttributes)
        let predicate = element.attributes["predicateString"]
        var template = FetchRequestTemplate(
            required("name", of: element), entity: required("entity", of: element),
            predicate: predicate?.isEmpty == true ? nil : predicate, limit: number("fetchLimit", of: element) ?? 0)
        template.fetchBatchSize = number("fetchBatchSize", of: element) ?? 0
        if let kind = number("resultType", of: element) {
            template.resultKind = FetchRequestTemplate.ResultKind(rawValue: kind) ?? .objects
        }
        // Xcode omits flags with the value NO, but the default of Core Data's API is YES. A missing flag has the default of the API.
        template.includesSubentities = flag("includeSubentities", of: element, default: true)
        template.includesPropertyValues = flag("includePropertyValues", of: element, default: true)
        template.includesPendingChanges = flag("includesPendingChanges", of: element, default: true)
        template.returnsObjectsAsFaults = flag("returnObjectsAsFaults", of: element, default: true)
        template.returnsDistinctResults = flag("returnDistinctResults", of: element)
        reportMissingFlags(of: element)
        return template
    }

    /// Reports missing flags if other flags exist, because such a file probably omits the flags with the value NO.
    private mutating func reportMissingFlags(of element: XMLElementTree) {
        let flags = ["includeSubentities", "includePropertyValues", "includesPendingChanges", "returnObjectsAsFaults"]
        let missing = flags.filter { element.attributes[$0] == nil }
        guard !missing.isEmpty, missing.count < flags.count else { return }
        note(element, "the flags \(missing.joined(separator: ", ")) of a fetch request are not written and were taken as YES")
    }

    private static let fetchRequestAttributes: Set<String> = [
        "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "resultType", "includeSubentities",
        "includePropertyValues", "includesPendingChanges", "returnObjectsAsFaults", "returnDistinctResults",
    ]
}
