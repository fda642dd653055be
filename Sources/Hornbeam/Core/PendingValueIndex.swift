internal import HornbeamModel
internal import HornbeamStore

/// The objects of a pending view by the value of a property, as of the last update of each object.
///
/// Objects are numbered by the view. Texts are numbered by their bytes, as `PropertyValue` compares them. A text keeps its number when no object
/// has it any more; the view discards an index with many such texts.
final class PendingValueIndex {
    /// The index of the property.
    let property: Int
    private var texts = NumberedTexts()
    /// The objects with each text, by the number of the text.
    private var holdersOfTexts: [Holders] = []
    /// The objects with each value that is no text.
    private var holdersOfOthers: [PropertyValue: Holders] = [:]
    /// The value of each object, by the number of the object.
    private var values: [Value] = []

    private enum Value: Equatable {
        case none
        case text(Int)
        case other(PropertyValue)
    }

    /// The numbers of the objects that have a value. Most values of a request for equality have one.
    struct Holders {
        fileprivate var first: Int?
        private var others: Set<Int> = []

        func forEach(_ body: (Int) -> Void) {
            if let first { body(first) }
            if !others.isEmpty { others.forEach(body) }
        }

        fileprivate mutating func insert(_ object: Int) {
            if first == nil { first = object } else { others.insert(object) }
        }

        fileprivate mutating func remove(_ object: Int) {
            if first == object { first = others.popFirst() } else { others.remove(object) }
        }
    }

    /// This many texts without an object are permitted in any index.
    private static let formerTextsMax = 1_000

    init(of property: Int) { self.property = property }

    /// True if there are more than twice as many texts as objects, and some more.
    var hasManyFormerTexts: Bool { holdersOfTexts.count > 2 * values.count + Self.formerTextsMax }

    /// The objects with a value; nil if there are none.
    func holders(of value: PropertyValue) -> Holders? {
        guard case .string(var text) = value else { return holdersOfOthers[value] }
        return text.withUTF8 { unsafe texts.known(UnsafeRawBufferPointer($0)) }.map { holdersOfTexts[$0] }
    }

    /// Records the value of an object.
    func update(_ object: Int, _ value: PropertyValue) {
        while values.count <= object { values.append(.none) }
        let new = numbered(value)
        guard values[object] != new else { return }
        remove(object)
        values[object] = new
        switch new {
        case .none: break
        case .text(let number): holdersOfTexts[number].insert(object)
        case .other(let value): holdersOfOthers[value, default: Holders()].insert(object)
        }
    }

    /// Removes an object.
    func remove(_ object: Int) {
        guard object < values.count else { return }
        switch values[object] {
        case .none: return
        case .text(let number): holdersOfTexts[number].remove(object)
        case .other(let value):
            holdersOfOthers[value]?.remove(object)
            if holdersOfOthers[value]?.first == nil { holdersOfOthers[value] = nil }
        }
        values[object] = .none
    }

    private func numbered(_ value: PropertyValue) -> Value {
        guard case .string(var text) = value else { return value.isNull ? .none : .other(value) }
        let (number, isNew) = text.withUTF8 { unsafe texts.number(UnsafeRawBufferPointer($0)) }
        if isNew { holdersOfTexts.append(Holders()) }
        return .text(number)
    }
}
