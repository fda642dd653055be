/// The part of the source that the compiler sends, with its location in the file.
struct SourcePart: Equatable {
    var source: String
    var fileName: String
    /// The offset of the first byte of `source` in the file.
    var offset: Int

    init(source: String, fileName: String = "", offset: Int = 0) {
        self.source = source
        self.fileName = fileName
        self.offset = offset
    }

    init?(_ json: JSON?) {
        guard let source = json?["source"]?.text else { return nil }
        let location = json?["location"]
        self.init(source: source, fileName: location?["fileName"]?.text ?? "", offset: location?["offset"]?.integer ?? 0)
    }
}

/// A request of the compiler.
///
/// The protocol is that of the compiler's executable plug-ins, version 7 (Swift 6.3). Later versions have so far only added members.
enum Request: Equatable {
    static let protocolVersion = 7

    case capability(protocolVersion: Int)
    /// A freestanding macro, such as `#Index<Book>([\.year])`. Its expansion is empty, because `@Entity` reads it.
    case expandFreestanding
    case expandAttached(AttachedMacro)
    /// A message that the plug-in cannot read, with the reason.
    case unknown(String)

    struct AttachedMacro: Equatable {
        var typeName: String
        var role: String
        var attribute: SourcePart
        var declaration: SourcePart
    }

    init(_ bytes: [UInt8]) {
        guard let message = JSON(bytes), case .object(let members) = message, let kind = members.first?.key, let body = message[kind]
        else {
            self = .unknown("it is not one JSON object")
            return
        }
        switch kind {
        case "getCapability":
            self = .capability(protocolVersion: body["capability"]?["protocolVersion"]?.integer ?? 0)
        case "expandFreestandingMacro":
            self = .expandFreestanding
        case "expandAttachedMacro":
            // `name` may end with white space; `typeName` does not.
            guard let typeName = body["macro"]?["typeName"]?.text, let role = body["macroRole"]?.text,
                let attribute = SourcePart(body["attributeSyntax"]), let declaration = SourcePart(body["declSyntax"])
            else {
                self = .unknown("“\(kind)” lacks the macro, its role, or the source")
                return
            }
            self = .expandAttached(.init(typeName: typeName, role: role, attribute: attribute, declaration: declaration))
        default:
            self = .unknown("it is called “\(kind)”")
        }
    }
}
