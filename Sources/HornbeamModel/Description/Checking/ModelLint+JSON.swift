public import Foundation

extension ModelLint {
    /// All errors and warnings of a model in JSON, errors first, each with file and line.
    ///
    /// For a file with a syntax error, only that error is reported. For a file with parts that cannot be decoded, only the errors of these
    /// parts are reported, because other parts depend on them.
    /// - Parameter file: The path of the file, for the issues.
    public static func issues(inJSON json: Data, file: String) -> [ModelIssue] {
        let lines = JSONLines(json)
        do {
            let definition = try ModelDefinition(json: json)
            return located(issues(in: definition), file: file) { entity, key in
                lines.line(definition.path(entity: entity, key: key))
            }
        } catch {
            let fault = error as? HornbeamError ?? HornbeamError(.malformedModelFile, message(of: error))
            let faults = fault.details.isEmpty ? [fault] : fault.details
            let issues = faults.map { fault in
                let line = lines.syntaxErrorLine ?? fault.modelPath.map(lines.line) ?? 1
                return ModelIssue(.error, fault.message, line: line)
            }
            return located(issues, file: file) { _, _ in nil }
        }
    }

    /// The issues with their lines: errors before warnings, each group sorted by line.
    package static func located(
        _ issues: [ModelIssue], file: String, line: (_ entity: String?, _ key: String?) -> Int?
    ) -> [ModelIssue] {
        let placed = issues.map { issue in
            var issue = issue
            issue.file = file
            issue.line = issue.line ?? line(issue.entity, issue.key)
            return issue
        }
        return placed.enumerated().sorted { a, b in
            (a.element.severity, a.element.line ?? 0, a.offset) < (b.element.severity, b.element.line ?? 0, b.offset)
        }.map(\.element)
    }
}

extension HornbeamError {
    /// The path of the part of a JSON model that cannot be decoded; nil for other errors.
    fileprivate var modelPath: [String]? {
        code == .malformedModelFile ? key.map { $0.split(separator: "/").map(String.init) } : nil
    }
}

extension ModelDefinition {
    /// The path in the JSON of the part that an issue names.
    fileprivate func path(entity name: String?, key: String?) -> [String] {
        if let name, let place = entities.firstIndex(where: { $0.name == name }) {
            return ["entities", "\(place)"] + (key.flatMap { entities[place].path(of: $0) } ?? [])
        }
        if let name, let place = composites.firstIndex(where: { $0.name == name }) {
            let element = composites[place].elements.firstIndex { $0.name == key }
            return ["composites", "\(place)"] + (element.map { ["elements", "\($0)"] } ?? [])
        }
        if let place = fetchRequestTemplates.firstIndex(where: { $0.name == key }) { return ["fetchRequests", "\(place)"] }
        return key.map { ["configurations", $0] } ?? []
    }
}

extension Entity {
    fileprivate func path(of key: String) -> [String]? {
        let lists = [
            ("attributes", attributes.map(\.name)), ("relationships", relationships.map(\.name)),
            ("fetchedProperties", fetchedProperties.map(\.name)), ("indexes", fetchIndexes.map(\.name)),
        ]
        for (list, names) in lists {
            if let place = names.firstIndex(of: key) { return [list, "\(place)"] }
        }
        return uniquenessConstraints.firstIndex { $0.contains(key) }.map { ["unique", "\($0)"] }
    }
}
