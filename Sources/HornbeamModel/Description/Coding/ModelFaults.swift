internal import Foundation

/// Finds all faults of a JSON document that is not a valid model.
///
/// The decoder stops at the first fault. The faulty part is then removed, and the rest is decoded again to find the next
/// fault. Parts inside a removed part are not checked.
struct ModelFaults {
    private let json: Data
    private let document: Any?
    /// The removed parts, by their path in the original document.
    private var omitted: Set<[String]> = []

    /// The maximum number of faults reported. Each fault requires another decoding.
    private static let faultsMax = 25

    init(_ json: Data) {
        self.json = json
        document = try? JSONSerialization.jsonObject(with: json)
    }

    /// One error with all faults as details; for a single fault, its own error.
    func error(first: DecodingError) -> HornbeamError {
        var search = self
        var faults: [HornbeamError] = []
        var next: DecodingError? = first
        var attempts = 0
        while let error = next, attempts < Self.faultsMax {
            attempts += 1
            let fault = Fault(error)
            let path = search.originalPath(fault.place)
            let faultPath = path + (fault.unknown.map { [$0] } ?? [])
            // A member that is now reported as missing may have been removed before, as misspelled or of the wrong type. It is not reported twice.
            if fault.unknown != nil || !search.hasOmitted(from: path) { faults.append(search.error(fault, path, faultPath)) }
            guard !faultPath.isEmpty, search.omitted.insert(faultPath).inserted else { break }
            next = search.nextError()
        }
        guard faults.count > 1 else { return faults[0] }
        return HornbeamError(
            .malformedModelFile, "The model file has \(faults.count) faults. " + faults.prefix(3).map(\.message).joined(separator: " ")
                + (faults.count > 3 ? " … (all of them are among the details)" : ""),
            key: faults[0].key, details: faults)
    }

    private func hasOmitted(from path: [String]) -> Bool { omitted.contains { $0.dropLast() == path[...] } }

    private func nextError() -> DecodingError? {
        guard let document, let rest = try? JSONSerialization.data(withJSONObject: reduced(document, [])) else { return nil }
        do {
            _ = try JSONDecoder().decode(ModelDefinition.self, from: rest)
            return nil
        } catch {
            return error as? DecodingError
        }
    }

    /// A part of the document without the removed parts.
    private func reduced(_ value: Any, _ path: [String]) -> Any {
        if let list = value as? [Any] {
            return list.enumerated().filter { !omitted.contains(path + ["\($0.offset)"]) }.map { reduced($0.element, path + ["\($0.offset)"]) }
        }
        guard let members = value as? [String: Any] else { return value }
        return Dictionary(uniqueKeysWithValues: members.filter { !omitted.contains(path + [$0.key]) }.map { ($0.key, reduced($0.value, path + [$0.key])) })
    }

    /// Converts a path of the reduced document into the path of the same part in the original document.
    private func originalPath(_ place: [any CodingKey]) -> [String] {
        var path: [String] = []
        var part = document
        for key in place {
            // The key of a dictionary has an integer value too if it is the text of a number.
            if let members = part as? [String: Any] {
                path.append(key.stringValue)
                part = members[key.stringValue]
                continue
            }
            guard let list = part as? [Any], var left = key.intValue else {
                path.append(key.intValue.map { "\($0)" } ?? key.stringValue)
                continue
            }
            var index = 0
            while index < list.count, omitted.contains(path + ["\(index)"]) || left > 0 {
                if !omitted.contains(path + ["\(index)"]) { left -= 1 }
                index += 1
            }
            path.append("\(index)")
            part = index < list.count ? list[index] : nil
        }
        return path
    }

    private func error(_ fault: Fault, _ path: [String], _ faultPath: [String]) -> HornbeamError {
        let what = document == nil ? "it is not JSON." : fault.text
        return HornbeamError(
            .malformedModelFile, "The model file cannot be read\(path.isEmpty ? "" : " at \(readablePath(path))"): \(what)",
            key: faultPath.joined(separator: "/"))
    }

    /// A readable path in the file: `entities[1] “Book” → attributes[0] “title”`.
    private func readablePath(_ path: [String]) -> String {
        var value = document
        var steps: [String] = []
        for key in path {
            if let list = value as? [Any], let index = Int(key) {
                value = index < list.count ? list[index] : nil
                let name = (value as? [String: Any])?["name"] as? String
                steps[max(0, steps.count - 1)] += "[\(index)]" + (name.map { " “\($0)”" } ?? "")
            } else {
                value = (value as? [String: Any])?[key]
                steps.append(key)
            }
        }
        return steps.joined(separator: " → ")
    }

    /// The parts of a decoding error.
    private struct Fault {
        let place: [any CodingKey]
        let text: String
        /// The name of an unknown member; nil for other faults.
        var unknown: String?

        init(_ error: DecodingError) {
            switch error {
            case .keyNotFound(let key, let context):
                (place, text) = (context.codingPath, "the member “\(key.stringValue)” is missing.")
            case .typeMismatch(let type, let context):
                (place, text) = (context.codingPath, "a value of another kind is expected (\(type)).")
            case .valueNotFound(let type, let context):
                (place, text) = (context.codingPath, "a value is missing (\(type)).")
            case .dataCorrupted(let context):
                (place, text) = (context.codingPath, context.debugDescription)
                unknown = (context.underlyingError as? UnknownMember)?.key
            @unknown default: (place, text) = ([], "it is not a model.")
            }
        }
    }
}
