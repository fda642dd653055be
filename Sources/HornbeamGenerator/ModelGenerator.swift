public import HornbeamModel

/// Writes Swift classes for a model (GEN-1, GEN-2).
///
/// Equal models have equal files, byte for byte. Entities and their properties are in the order of the model.
public struct ModelGenerator: Sendable {
    let definition: ModelDefinition
    /// The name of the model. The type that provides the model has this name with a suffix: `ShopModel` for `Shop`.
    let name: String
    let style: CodeStyle
    let access: CodeAccess
    private let classNames: Set<String>

    public init(_ definition: ModelDefinition, name: String, style: CodeStyle, access: CodeAccess = .internal) {
        self.definition = definition
        self.name = name
        self.style = style
        self.access = access
        classNames = Set(definition.entities.map(SwiftSpelling.className))
    }

    /// True for a name with which the name of a type can begin.
    public static func isUsable(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first.properties.isXIDStart else { return false }
        return name.unicodeScalars.allSatisfy { $0.properties.isXIDContinue }
    }

    /// All files: one or two for each entity, and one for the model.
    ///
    /// - Throws: `invalidModel` for a model with a problem, and for a property with the name of a member of every managed object,
    ///   for two entities with one class, and for a class whose name is not one of Swift.
    public func files() throws -> [GeneratedFile] {
        _ = try ManagedObjectModel(definition)
        try requireUsableNames()
        var files: [GeneratedFile] = []
        for entity in definition.entities {
            let source = EntitySource(entity, in: self)
            switch style {
            case .macro: files.append(file(source.className, source.macroClass))
            case .tokens: files.append(file(source.className, source.tokenClass))
            case .extensions:
                files.append(file("\(source.className)+Properties", source.propertiesExtension))
                files.append(GeneratedFile(name: "\(source.className).swift", text: head + source.emptyClass, isOverwritten: false))
            }
        }
        files.append(file("\(name)Model", try ModelSource(self).text))
        return files
    }

    /// All declarations in one file, for build plug-ins.
    ///
    /// - Throws: The errors of `files()`.
    public func singleFile() throws -> GeneratedFile {
        let parts = try files().map { file in
            String(file.text.trimmingPrefix(GeneratedFile.mark + "\n\n").trimmingPrefix(head))
        }
        return file("\(name)Model", parts.joined(separator: "\n"))
    }

    /// The parts of the model that the style cannot express, one sentence for each.
    public var omissions: [String] {
        guard style == .macro else { return [] }
        var sentences: [String] = []
        if !definition.configurations.isEmpty { sentences.append("Configurations are not written: classes do not declare them.") }
        if !definition.fetchRequestTemplates.isEmpty {
            sentences.append("Templates of fetch requests are not written: classes do not declare them.")
        }
        if !definition.localizationDictionary.isEmpty { sentences.append("The localization dictionary is not written.") }
        for entity in definition.entities {
            for attribute in entity.attributes where attribute.valueTransformerName != nil && attribute.valueClassName == nil {
                sentences.append("\(entity.name).\(attribute.name) is written as Data: name the type that its transformer makes.")
            }
            for attribute in entity.attributes where !attribute.defaultValue.isNull {
                guard SwiftSpelling.expression(attribute.typedDefault, of: attribute.type) == nil else { continue }
                sentences.append("\(entity.name).\(attribute.name) is written without its default value, which no short expression makes.")
            }
        }
        return sentences
    }

    /// The names of members of managed objects and their classes that properties of a model may have, but not those of a class.
    private static let memberNames: Set<String> = [
        "changedValues", "changedValuesForCurrentEvent", "defaultOrder", "entityDeclaration", "entityName", "evaluatedIdentity", "evaluatedKeys",
        "fetchRequest", "hasPersistentChangedValues", "isFailed", "predicateArgument", "tokens",
        // Swift reserves these also in backticks.
        "Protocol", "Self",
    ]

    private func requireUsableNames() throws {
        var owners: [String: String] = [:]
        for entity in definition.entities {
            let name = SwiftSpelling.className(of: entity)
            guard Self.isUsable(name.hasPrefix("_") ? "x" + name : name), !SwiftSpelling.isKeyword(name) else {
                throw HornbeamError(.invalidModel, "“\(name)”, the class of \(entity.name), is not the name of a Swift class.", entity: entity.name)
            }
            if name == "\(self.name)Model" {
                throw HornbeamError(
                    .invalidModel,
                    "The class of \(entity.name) and the type of the model “\(self.name)” have the same name, \(name). Give the model another name.",
                    entity: entity.name)
            }
            if let other = owners.updateValue(entity.name, forKey: name) {
                throw HornbeamError(
                    .invalidModel,
                    "\(other) and \(entity.name) have the same class, \(name). A generated class belongs to one entity: give each its own in the model.",
                    entity: entity.name)
            }
        }
        for entity in definition.entities {
            for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) where Self.memberNames.contains(name) {
                throw HornbeamError(
                    .invalidModel,
                    "\(entity.name).\(name) cannot be a property of a class, because every managed object has a member with this name, or Swift reserves it. "
                        + "Rename it in the model, with the renaming identifier “\(name)”.", entity: entity.name, key: name)
            }
        }
    }

    private var head: String { "import Foundation\nimport Hornbeam\n\n" }

    private func file(_ name: String, _ text: String) -> GeneratedFile {
        GeneratedFile(name: "\(name).swift", text: "\(GeneratedFile.mark)\n\n\(head)\(text)", isOverwritten: true)
    }

    /// The name of the class of an entity, by the name of the entity.
    func className(ofEntity name: String) -> String {
        definition.entities.first { $0.name == name }.map(SwiftSpelling.className) ?? name
    }

    /// The name of a library's type, with its module if a class of the model has the same name.
    func type(_ name: String) -> String {
        guard classNames.contains(name) else { return name }
        return "\(SwiftSpelling.module(of: name)).\(name)"
    }

    /// True for an entity from which others inherit. Its class cannot be final.
    func hasSubentities(_ entity: Entity) -> Bool { definition.entities.contains { $0.superentityName == entity.name } }
}
