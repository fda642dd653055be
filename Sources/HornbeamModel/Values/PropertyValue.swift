public import Foundation

/// A value of a property, an argument of a predicate, or the result of an expression.
///
/// Integers of every width are `int`; `Float` attributes are `double` here and rounded to their
/// width where they are stored. Collections occur in predicates and as to-many values only.
public enum PropertyValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case decimal(Decimal)
    case string(String)
    case date(Date)
    case data(Data)
    case uuid(UUID)
    case uri(URL)
    case objectID(ManagedObjectID)
    case array([PropertyValue])
    case set(Set<PropertyValue>)
    case dictionary([String: PropertyValue])
}
