import Foundation
import HornbeamModel
import HornbeamXcodeModels
import Testing

/// The models of real apps, read as an independent reader reads them.
@Suite(.enabled(if: !CaseModels.findings.isEmpty, "The model cases are not beside the package."))
struct CaseModelTests {
    @Test("MDL-4: every model of a real app reads as an independent reader reads it")
    func everyModelReadsTheSame() throws {
        #expect(CaseModels.findings.count == CaseModels.lineCount)
        for finding in CaseModels.findings {
            let model = try XcodeModel(contentsOf: CaseModels.folder.appending(path: finding.model))
            #expect(Self.disagreements(model, finding) == [], "\(finding.model)")
        }
    }

    private static func disagreements(_ model: XcodeModel, _ finding: CaseModels.Finding) -> [String] {
        let definition = model.definition
        let entities = definition.entities
        let indexes = entities.flatMap(\.fetchIndexes).filter { !$0.name.hasPrefix("indexed_") }
        var found: [String] = []
        func agree<Value: Equatable>(_ what: String, _ ours: Value, _ theirs: Value) {
            if ours != theirs { found.append("\(what): \(ours), and the reader found \(theirs)") }
        }
        agree("entities", entities.count, finding.entities)
        agree("attributes", entities.map(\.attributes.count).reduce(0, +), finding.attributes)
        agree("relationships", entities.map(\.relationships.count).reduce(0, +), finding.relationships)
        agree("fetched properties", entities.map(\.fetchedProperties.count).reduce(0, +), finding.fetchedProperties)
        agree("indexes", indexes.count, finding.indexes)
        agree("constraints", entities.map(\.uniquenessConstraints.count).reduce(0, +), finding.uniquenessConstraints)
        agree(
            "configurations", definition.configurations,
            Dictionary(uniqueKeysWithValues: finding.configurations.map { ($0.name, $0.members) }))
        agree("CloudKit", model.isUsedWithCloudKit, finding.cloudKit)
        agree("version", definition.versionIdentifiers, finding.versionIdentifier.isEmpty ? [] : [finding.versionIdentifier])
        for entity in entities {
            guard let details = finding.entityDetails[entity.name] else {
                found.append("the reader did not find \(entity.name)")
                continue
            }
            found += disagreements(entity, details, definition)
        }
        return found
    }

    private static func disagreements(
        _ entity: Entity, _ details: CaseModels.Finding.EntityFinding, _ definition: ModelDefinition
    ) -> [String] {
        var found: [String] = []
        func agree<Value: Equatable>(_ what: String, _ ours: Value, _ theirs: Value) {
            if ours != theirs { found.append("\(entity.name) \(what): \(ours), and the reader found \(theirs)") }
        }
        var line: [Entity] = [entity]
        while let parent = line.last?.superentityName, let next = definition.entities.first(where: { $0.name == parent }) {
            line.append(next)
        }
        agree("parent", entity.superentityName, details.parent)
        agree("abstract", entity.isAbstract, details.abstract)
        agree("attributes", line.map(\.attributes.count).reduce(0, +), details.allAttributes)
        let types = Dictionary(grouping: entity.attributes, by: { word($0.type) }).mapValues(\.count)
        agree("types", types, details.attributeTypes)
        agree("constraints", entity.uniquenessConstraints, details.unique)
        agree("relationships", Set(entity.relationships.map(\.name)), Set(details.relationships.keys))
        for relationship in entity.relationships {
            guard let theirs = details.relationships[relationship.name] else { continue }
            agree("\(relationship.name) destination", relationship.destinationEntityName, theirs.destination)
            agree("\(relationship.name) count", relationship.isToMany ? "many" : "one", theirs.count)
            agree("\(relationship.name) inverse", relationship.inverseName, theirs.inverse)
            agree("\(relationship.name) rule", word(relationship.deleteRule), theirs.deleteRule)
            agree("\(relationship.name) order", relationship.isOrdered, theirs.isOrdered)
        }
        return found
    }

    private static func word(_ rule: DeleteRule) -> String {
        switch rule {
        case .noAction: "No Action"
        case .nullify: "Nullify"
        case .cascade: "Cascade"
        case .deny: "Deny"
        }
    }

    private static func word(_ type: AttributeType) -> String {
        switch type {
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .uuid: "UUID"
        case .uri: "URI"
        default: type.description.prefix(1).uppercased() + type.description.dropFirst()
        }
    }

    @Test("MDL-7: every model of a real app survives JSON, and is valid or has an error with the reason")
    func everyModelSurvivesJSON() throws {
        var unusable = 0
        defer { print("cases models: \(CaseModels.findings.count) read, linted and brought through JSON, \(unusable) of them with errors") }
        for finding in CaseModels.findings {
            let read = try XcodeModel(contentsOf: CaseModels.folder.appending(path: finding.model))
            #expect(try ModelDefinition(json: read.definition.json()) == read.definition, "\(finding.model)")
            let errors = read.lint().filter { $0.severity == .error }
            do {
                let model = try ManagedObjectModel(read.definition)
                #expect(errors == [], "\(finding.model)")
                #expect(try ManagedObjectModel(decoding: model.encoded()).versionChecksum == model.versionChecksum)
            } catch {
                unusable += 1
                #expect(!errors.isEmpty)
                #expect(errors.allSatisfy { $0.line != nil }, "\(finding.model)")
            }
        }
    }

    @Test("MDL-12: every bundle of a real app names a current version that is there")
    func everyBundleHasACurrentVersion() throws {
        let bundles = Set(CaseModels.findings.compactMap { finding -> String? in
            guard let end = finding.model.range(of: ".xcdatamodeld/") else { return nil }
            return String(finding.model[..<end.upperBound].dropLast())
        })
        #expect(!bundles.isEmpty)
        for path in bundles.sorted() {
            let bundle = try XcodeModelBundle(contentsOf: CaseModels.folder.appending(path: path))
            #expect(bundle.versionNames.contains(bundle.currentVersionName), "\(path)")
            _ = try XcodeModel(contentsOf: CaseModels.folder.appending(path: path))
        }
    }
}
