import Foundation
import HornbeamModel
import Testing

/// The shared cases that need no objects: printing, structure, texts that must not parse.
@Suite(.enabled(if: CaseFile.areAvailable))
struct FormatCaseTests {
    @Test func canonicalFormsPrintAsFoundationPrintsThem() throws {
        let failures = try CaseFile("canonical.jsonl").run { entry in
            let predicate = try entry["compose"].map(Self.composed) ?? entry.predicate()
            let canonical = entry["canonical"]?.text ?? ""
            guard predicate.predicateFormat == canonical else { return "prints \(predicate.predicateFormat), not \(canonical)" }
            let again = try FetchPredicate(format: canonical)
            guard again.predicateFormat == canonical else { return "the canonical text prints as \(again)" }
            return nil
        }
        #expect(failures == [])
    }

    private static func composed(_ value: CaseValue) throws -> FetchPredicate {
        guard let list = value.list, let word = list.first?.text else {
            return try FetchPredicate(format: value.text ?? "")
        }
        let parts = try list.dropFirst().map(composed)
        return switch word {
        case "and": .all(parts)
        case "or": .any(parts)
        default: .not(parts[0])
        }
    }

    @Test func structuresAreAsStated() throws {
        let failures = try CaseFile("structure.jsonl").run { entry in
            switch entry["kind"]?.text {
            case "predicate-equality":
                let a = try entry["a"]!.predicate()
                let b = try entry["b"]!.predicate()
                return (a == b) == entry["equal"]?.flag ? nil : "\(a) against \(b)"
            case "expression-count":
                var count = 0
                try entry.predicate().node.forEachExpression { _ in count += 1 }
                return Double(count) == entry["count"]?.number ? nil : "\(count) expressions"
            default:
                let predicate = try entry.predicate()
                return Self.matches(predicate.node, entry["tree"]!) ? nil : "reads as \(predicate)"
            }
        }
        #expect(failures == [])
    }

    private static func matches(_ node: FetchPredicate.Node, _ tree: CaseValue) -> Bool {
        let parts = tree["subpredicates"]?.list ?? []
        switch (node, tree["type"]?.text) {
        case (.and(let nodes), "and"), (.or(let nodes), "or"):
            return nodes.count == parts.count && zip(nodes, parts).allSatisfy { matches($0, $1) }
        case (.not(let inner), "not"): return matches(inner, parts[0])
        case (.comparison(let comparison), "comparison"):
            return "\(comparison.comparator)" == tree["operator"]?.text?.replacingOccurrences(of: "To", with: "")
                && comparison.options.letters.filter(\.isLetter) == tree["options"]?.text
                && "\(comparison.modifier)" == tree["modifier"]?.text
                && matches(comparison.left, tree["left"]!) && matches(comparison.right, tree["right"]!)
        default: return false
        }
    }

    private static func matches(_ node: FetchExpression.Node, _ tree: CaseValue) -> Bool {
        if let path = tree["keyPath"]?.text { return FetchExpression(node: node).description == path }
        guard case .constant(let value) = node, let constant = tree["constant"] else { return false }
        return value == FetchExpression.normalized(constant.propertyValue())
    }
}
