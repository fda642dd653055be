/// The messages between the compiler and the plug-in.
package enum Messages {
    /// The response to a message. Both are bytes of JSON.
    package static func response(to bytes: [UInt8]) -> [UInt8] { Array(Response(to: Request(bytes)).json.description.utf8) }
}

/// A response of the plug-in.
enum Response {
    case capability
    case expansion(source: String, diagnostics: [Diagnostic], part: SourcePart)

    init(to request: Request) {
        switch request {
        case .capability: self = .capability
        case .expandFreestanding: self = .expansion(source: "", diagnostics: [], part: SourcePart(source: ""))
        case .expandAttached(let macro): self = Expansion.response(to: macro)
        case .unknown(let reason):
            let message =
                "The compiler sent a message that Hornbeam's macros cannot read: \(reason). The macros use version "
                + "\(Request.protocolVersion) of the compiler's plug-in protocol. Use a version of Hornbeam that is made for this "
                + "compiler, or let `hornbeam generate` write the classes without macros."
            self = .expansion(source: "", diagnostics: [Diagnostic(0, message)], part: SourcePart(source: ""))
        }
    }

    var json: JSON {
        switch self {
        case .capability:
            ["getCapabilityResult": ["capability": ["protocolVersion": .number(Request.protocolVersion)]]]
        case .expansion(let source, let diagnostics, let part):
            [
                "expandMacroResult": [
                    "expandedSource": .string(source), "diagnostics": .array(diagnostics.map { $0.json(in: part) }),
                ]
            ]
        }
    }
}

extension Diagnostic {
    func json(in part: SourcePart) -> JSON {
        [
            "message": .string(message), "severity": .string("error"),
            "position": ["fileName": .string(part.fileName), "offset": .number(part.offset + position)],
            "highlights": .array([]), "notes": .array([]), "fixIts": .array(fix.map { [$0.json(in: part)] } ?? []),
        ]
    }
}

extension Diagnostic.Fix {
    fileprivate func json(in part: SourcePart) -> JSON {
        let range: JSON = [
            "fileName": .string(part.fileName), "startOffset": .number(part.offset + self.range.lowerBound),
            "endOffset": .number(part.offset + self.range.upperBound),
        ]
        return ["message": .string(message), "changes": .array([["range": range, "newText": .string(text)]])]
    }
}
