import HornbeamModel

/// The source of the type that provides the model and its classes.
struct ModelSource {
    private let generator: ModelGenerator

    init(_ generator: ModelGenerator) { self.generator = generator }

    var text: String {
        get throws {
            let access = generator.access.prefix
            let classes = generator.definition.entities.map { "\(SwiftSpelling.className(of: $0)).self" }.joined(separator: ", ")
            let definition = "ModelDefinition(json: \(generator.type("Data"))(json.utf8))"
            let model = "ManagedObjectModel(\(generator.style == .macro ? "for: \(classes)" : definition))"
            var lines = [
                "/// The model “\(generator.name)” and the classes of its entities.",
                "\(access)enum \(generator.name)Model {",
                "    \(access)static let classes: [ManagedObject.Type] = [\(classes)]",
                "",
                "    /// - Throws: `invalidModel` for a model with a problem; a generated one has none.",
                "    \(access)static func managedObjectModel() throws -> ManagedObjectModel {",
                "        try \(model)",
                "    }",
            ]
            if generator.style != .macro { lines += try json }
            return (lines + ["}"]).joined(separator: "\n") + "\n"
        }
    }

    /// The model as JSON in a raw string literal, with enough `#` that no part of the JSON ends the literal.
    private var json: [String] {
        get throws {
            let text = try String(decoding: generator.definition.json(), as: UTF8.self)
            var marks = "#"
            while text.contains("\"\"\"\(marks)") || text.contains("\\\(marks)") { marks += "#" }
            let body = text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "        \($0)" }
            return ["", "    /// The model as `hornbeam model convert` writes it.", "    private static let json = \(marks)\"\"\""] + body
                + ["        \"\"\"\(marks)"]
        }
    }
}
