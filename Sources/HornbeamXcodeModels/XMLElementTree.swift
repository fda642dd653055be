internal import Foundation
internal import FoundationXML
internal import HornbeamModel

/// One element of an XML document, with its first line.
struct XMLElementTree {
    let name: String
    let attributes: [String: String]
    let line: Int
    var children: [XMLElementTree] = []

    /// The child elements with the given name.
    func children(named name: String) -> [XMLElementTree] { children.filter { $0.name == name } }

    /// Parses a document. External entities are not loaded.
    ///
    /// - Throws: `HornbeamError` with code `malformedModelFile`; the message contains the line.
    static func parse(_ data: Data, file: String) throws -> XMLElementTree {
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        let collector = Collector()
        parser.delegate = collector
        let succeeded = parser.parse()
        if succeeded, let root = collector.root { return root }
        let reason = collector.refusal ?? "it is not well-formed XML"
        throw HornbeamError(
            .malformedModelFile, "“\(file)” cannot be read at line \(max(1, collector.lineOfError ?? parser.lineNumber)): \(reason).")
    }

    /// Builds the tree while the parser runs.
    private final class Collector: NSObject, XMLParserDelegate {
        private(set) var root: XMLElementTree?
        private(set) var refusal: String?
        private(set) var lineOfError: Int?
        private var open: [XMLElementTree] = []

        /// The maximum nesting depth. It limits recursion over the tree; no model is nested more deeply.
        private static let depthMax = 64

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            guard open.count < Self.depthMax else {
                refusal = "its elements are nested too deeply"
                lineOfError = parser.lineNumber
                parser.abortParsing()
                return
            }
            open.append(XMLElementTree(name: name, attributes: attributes, line: parser.lineNumber))
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            guard let element = open.popLast() else { return }
            if open.isEmpty {
                root = element
            } else {
                open[open.count - 1].children.append(element)
            }
        }

        func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
            if lineOfError == nil { lineOfError = parser.lineNumber }
        }
    }
}
